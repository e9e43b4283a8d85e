"""``steadytree completion``: a script for each shell, and what it completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(run: Run, shell: str) -> None:
    result = run("completion", shell)
    assert result.code == 0
    assert "_STEADYTREE_COMPLETE" in result.out


def test_completion_knows_the_commands() -> None:
    environment = {
        **os.environ,
        "_STEADYTREE_COMPLETE": "bash_complete",
        "COMP_WORDS": "steadytree re",
        "COMP_CWORD": "1",
    }
    program = Path(sys.executable).with_name("steadytree")
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,retrain"]


def test_another_shell_is_answered_with_the_known_ones(run: Run) -> None:
    result = run("completion", "tcsh")
    assert result.code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in result.err
    assert result.out == ""
