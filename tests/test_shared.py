"""Optional packages: imported late, and a missing one says how to install it."""

from __future__ import annotations

import contextlib
import inspect
import json.decoder
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import steadytree
from steadytree import exceptions
from steadytree._optional import SAFE_FROM, import_optional, library_versions, with_version
from steadytree._progress import (
    check_interrupt,
    interrupts_wait,
    remember_interrupt,
    stopped_by,
    track,
)
from steadytree.exceptions import (
    ClippedThresholdWarning,
    InputError,
    MissingDependencyError,
    NotFittedTreeError,
    PlanError,
    SteadyTreeError,
    UnsupportedModelError,
    WriteError,
)


def test_optional_import_returns_the_module() -> None:
    assert import_optional("json.decoder", extra="x", purpose="y") is json.decoder


def test_missing_package_names_the_extra_and_the_purpose() -> None:
    with pytest.raises(MissingDependencyError) as caught:
        import_optional("no_such_package.sub", extra="onnx", purpose="Writing ONNX")
    message = str(caught.value)
    assert "Writing ONNX needs the package 'no_such_package'" in message
    assert "pip install 'steadytree[onnx]'" in message
    assert caught.value.name == "no_such_package"


@pytest.mark.parametrize(
    ("package", "release", "refused"),
    [
        *(("pyarrow", old, True) for old in ("2.0.0", "14.0.0")),
        *(("pyarrow", safe, False) for safe in ("14.0.1", "100.0.dev1")),
        *(("skops", "0.11.0", True), ("skops", "0.12.0", False)),
    ],
)
def test_a_version_that_runs_code_from_files_is_refused_unseen(
    package: str, release: str, refused: bool, tmp_path: Path
) -> None:
    """A real package of that version on the path, whose import would leave a trace."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("print('imported')\n")
    (tmp_path / f"{package}-{release}.dist-info").mkdir()
    (tmp_path / f"{package}-{release}.dist-info" / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {release}\n"
    )
    code = (
        "from steadytree._optional import import_optional\n"
        f"import_optional({package!r}, extra='parquet', purpose='reading rows.parquet')\n"
    )
    here = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": here},
    )
    assert ("imported" in done.stdout) is not refused, done.stderr
    least, fault = SAFE_FROM[package]
    if refused:
        assert f"needs {package} {least} or newer, got {release}, which {fault}" in done.stderr
        assert f"pip install '{package}>={least}'" in done.stderr


def test_what_is_installed_is_safe_from_the_start() -> None:
    """The extras ask for no version that would be refused."""
    settings = Path(__file__).parent.parent / "pyproject.toml"
    extras = tomllib.loads(settings.read_text())["project"]["optional-dependencies"]
    for package, (least, _) in SAFE_FROM.items():
        (asked,) = {r for some in extras.values() for r in some if re.match(rf"{package}\b", r)}
        assert asked.removesuffix(".0") == f"{package}>={least}".removesuffix(".0")


# -- versions for tree files and bug reports --


def test_versions_for_a_bug_report(capsys: pytest.CaptureFixture[str]) -> None:
    steadytree.show_versions()
    shown = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert shown["steadytree"] == steadytree.__version__
    assert shown["numpy"] == numpy.__version__
    assert "platform" in shown


def test_packages_that_are_not_installed_are_left_out() -> None:
    found = library_versions(("numpy", "no-such-package"))
    assert list(found) == ["python", "numpy"]
    assert found["numpy"] == numpy.__version__


def test_a_package_with_its_version() -> None:
    assert with_version("numpy") == f"numpy {numpy.__version__}"
    assert with_version("no-such-package") == "no-such-package"


def test_silence_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(iter(range(5)), total=5, label="Counting")) == [0, 1, 2, 3, 4]
    assert capsys.readouterr().err == ""


def test_a_line_for_every_tenth_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert list(track(range(100), total=100, label="Counting", verbose=1)) == list(range(100))
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("Counting: 10 of 100 (")
    assert lines[-1].startswith("Counting: 100 of 100 (")
    assert shown.out == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_bar_on_a_terminal() -> None:
    code = (
        "from steadytree._progress import track\n"
        "print(sum(track(range(7), total=7, label='Counting', verbose=1)))"
    )
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert done.stdout.strip() == "21"
    assert "Counting" in shown
    assert "100%" in shown


def test_all_names_are_errors_or_warnings_with_a_docstring() -> None:
    classes = {n: c for n, c in vars(exceptions).items() if inspect.isclass(c)}
    assert set(exceptions.__all__) <= set(classes)
    for name in exceptions.__all__:
        assert issubclass(classes[name], (SteadyTreeError, UserWarning)), name
        assert classes[name].__doc__, name


@pytest.mark.parametrize(
    ("error", "builtin", "code"),
    [
        (InputError, ValueError, 2),
        (UnsupportedModelError, TypeError, 2),
        (UnsupportedModelError, ValueError, 2),
        (NotFittedTreeError, AttributeError, 2),
        (MissingDependencyError, ImportError, 1),
        (WriteError, OSError, 1),
        (PlanError, SteadyTreeError, 3),
    ],
)
def test_errors_can_be_caught_as_the_natural_builtin(
    error: type[SteadyTreeError], builtin: type[Exception], code: int
) -> None:
    with pytest.raises(builtin, match="what went wrong") as caught:
        raise error("what went wrong")
    assert isinstance(caught.value, SteadyTreeError)
    assert caught.value.exit_code == code


def test_clipping_can_be_silenced_as_a_user_warning() -> None:
    assert issubclass(ClippedThresholdWarning, UserWarning)


# -- signals that end the work: seen wherever they arrive, never lost, and never half-way a file --


@pytest.fixture
def usual_interrupts() -> Iterator[None]:
    """Whatever the process that runs the tests does: under nohup, hang-ups are ignored."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("usual_interrupts")
def test_an_interrupt_that_got_lost_is_remembered() -> None:
    """As one that arrives while a compiled loop is loaded."""
    check_interrupt()  # nothing was asked
    with remember_interrupt():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
    with remember_interrupt():
        check_interrupt()  # the next run starts afresh
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("usual_interrupts")
def test_what_stopped_a_run_does_not_stop_the_next_where_interrupts_are_ignored() -> None:
    with remember_interrupt(), contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with remember_interrupt():
        check_interrupt()


@pytest.mark.usefixtures("usual_interrupts")
def test_who_ignores_interrupts_goes_on_doing_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with remember_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        check_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("usual_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_all_that_end_a_run_arrive_as_an_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    arrived = False
    with remember_interrupt():
        try:
            os.kill(os.getpid(), number)
            time.sleep(1)
        except KeyboardInterrupt:
            arrived = True
    assert arrived
    assert stopped_by() == number
    assert signal.getsignal(number) == before


@pytest.mark.usefixtures("usual_interrupts")
def test_a_step_that_has_to_be_whole_is() -> None:
    steps = []
    with remember_interrupt():
        with interrupts_wait():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("whole")
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
    assert steps == ["whole"]


@pytest.mark.usefixtures("usual_interrupts")
def test_within_another_run_nothing_is_forgotten() -> None:
    with remember_interrupt():
        with remember_interrupt(), contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
