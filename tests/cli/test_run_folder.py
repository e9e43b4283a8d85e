"""A folder holds one whole run: old or new, whatever happens in between; others' files stay."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from steadytree.cli.run_folder import RunFolder, problems_of, read_manifest
from steadytree.exceptions import InputError
from tests.cli.conftest import Files, Run

NAMES = ("a.txt", "b.txt", "tree.json", "refused-tree.json")


def write_run(folder: Path, *names: str, content: str = "1", code: int = 0) -> None:
    with RunFolder(folder, "fit", NAMES, options={"seed": 0}) as run:
        for name in names:
            run.write(name, lambda path: path.write_text(content))
        run.finish(code)


def visible(folder: Path) -> dict[str, str]:
    """Return what a reader sees, without the manifest."""
    seen = (p for p in folder.iterdir() if p.name != "manifest.json" and p.name[0] != ".")
    return {path.name: path.read_text() for path in seen}


def test_the_next_run_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    write_run(tmp_path, "a.txt", "tree.json", content="1")
    assert visible(tmp_path) == {"notes.txt": "mine", "a.txt": "1", "tree.json": "1"}
    write_run(tmp_path, "b.txt", "refused-tree.json", content="2", code=3)
    assert visible(tmp_path) == {"notes.txt": "mine", "b.txt": "2", "refused-tree.json": "2"}


def test_the_manifest_says_what_the_run_was(tmp_path: Path) -> None:
    write_run(tmp_path, "tree.json", "a.txt", content="content")
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["accepted"] is True
    assert (manifest["command"], manifest["exit_code"]) == ("fit", 0)
    assert manifest["options"] == {"seed": 0}
    assert {"steadytree", "numpy", "python"} <= set(manifest["versions"])
    digest = hashlib.sha256(b"content").hexdigest()
    assert manifest["files"]["a.txt"] == {"sha256": digest, "bytes": 7}
    assert list(manifest["files"]) == ["a.txt", "tree.json"]  # the tree comes last


def test_a_run_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    write_run(tmp_path, "a.txt", content="1")
    before = (tmp_path / "manifest.json").read_bytes()
    with RunFolder(tmp_path, "fit", NAMES) as run:
        run.write("a.txt", lambda path: path.write_text("2"))
        with pytest.raises(ValueError, match=r"c\.txt is not among the files"):
            run.write("c.txt", lambda path: path.write_text("1"))
        with pytest.raises(InputError, match="that no other run writes into"):
            RunFolder(tmp_path, "fit", NAMES)
    assert visible(tmp_path) == {"a.txt": "1"}
    assert (tmp_path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize("changed", ["changed", "foreign", "link", "folder"])
def test_what_no_run_wrote_is_never_replaced(tmp_path: Path, changed: str) -> None:
    folder = tmp_path / "out"
    if changed == "changed":
        write_run(folder, "a.txt", content="1")
        (folder / "a.txt").write_text("2")
    else:
        folder.mkdir()
        (tmp_path / "else.txt").write_text("mine")
    if changed == "foreign":
        (folder / "a.txt").write_text("mine")
    elif changed == "link":
        (folder / "a.txt").symlink_to(tmp_path / "else.txt")
    elif changed == "folder":
        (folder / "a.txt").mkdir()
    with pytest.raises(InputError, match=r"expected as .*a\.txt nothing or the file of an earlier"):
        RunFolder(folder, "fit", NAMES)


def test_a_folder_holds_one_run_of_one_command(tmp_path: Path) -> None:
    write_run(tmp_path, "tree.json")
    with pytest.raises(InputError, match=r"folder of its own as --out of compare, got one that"):
        RunFolder(tmp_path, "compare", ("diff.md",))
    assert visible(tmp_path) == {"tree.json": "1"}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "a web page", "icons": []}',
        "not JSON",
        '{"format": "steadytree-run", "version": 1, "command": "fit", "finished": "", "complete":'
        ' true, "files": {"../else.txt": {"sha256": "", "bytes": 1}}}',
        '{"format": "steadytree-run", "version": 2, "command": "fit", "finished": "", "files": {}}',
        "[]",
    ],
)
def test_another_manifest_is_not_taken_for_ours(tmp_path: Path, text: str) -> None:
    """Nor one that names files elsewhere, which would be removed."""
    (tmp_path / "manifest.json").write_text(text)
    for look in (lambda: RunFolder(tmp_path, "fit", NAMES), lambda: problems_of(tmp_path)):
        with pytest.raises(InputError, match=r"expected no manifest\.json but one that a run"):
            look()
    assert (tmp_path / "manifest.json").read_text() == text


def test_what_keeps_a_folder_from_being_whole_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a folder with a manifest\.json"):
        problems_of(tmp_path)
    write_run(tmp_path, "a.txt", "b.txt", "tree.json")
    assert problems_of(tmp_path) == []
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt").write_text("x")
    assert problems_of(tmp_path) == ["a.txt is missing", "b.txt is not the file that the run wrote"]


# Children are forked from a small process and killed before their n-th step on files.
KILLER = """
import os, signal, sys
from pathlib import Path
from tests.cli.test_run_folder import RunFolder, NAMES, write_run
folder, step = Path(sys.argv[1]), 0

def kill_at(at):
    seen = 0
    def hook(event, found):
        nonlocal seen
        if event in ("open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod"):
            if any(str(a).startswith(str(folder)) for a in found if isinstance(a, (str, Path))):
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen += 1
    sys.addaudithook(hook)

while True:
    child = os.fork()
    if child == 0:
        kill_at(step)
        odd = step % 2
        write_run(folder, *(NAMES[:3] if odd else NAMES[1::2]), content=f"{step}", code=3 - 3 * odd)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(step, status, flush=True)
    if sys.stdin.readline() != "on\\n" or status == 0:
        break
    step += 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_kill_before_any_step_leaves_one_run_or_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_run(folder, "a.txt", "b.txt", "tree.json", content="first")
    here = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    killer = subprocess.Popen(
        [sys.executable, "-c", KILLER, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": here},
    )
    assert killer.stdin is not None
    assert killer.stdout is not None
    met = []
    for line in killer.stdout:
        _, status = map(int, line.split())
        manifest = read_manifest(folder)
        if manifest is not None:
            assert problems_of(folder) == []
            shown = visible(folder)
            assert set(shown) == set(manifest["files"])
            assert len(set(shown.values())) == 1  # all of one run
        met.append("unfinished" if manifest is None else "whole")
        if status == 0:
            break
        assert status == signal.SIGKILL
        RunFolder(folder, "fit", NAMES).discard()  # what the next run does first
        assert problems_of(folder) == []
        assert not (folder / ".steadytree-finished").exists()
        killer.stdin.write("on\n")
        killer.stdin.flush()
    killer.stdin.close()
    killer.stdout.close()
    assert killer.wait() == 0
    assert met.count("unfinished") > 3
    assert met.count("whole") > 10


# -- ``steadytree verify`` ----------


def test_a_whole_run_passes_and_a_changed_one_does_not(
    run: Run, files: Files, tmp_path: Path
) -> None:
    given = ("fit", files.old, "--target", "outcome", "--learner", "cart", "-q")
    assert run(*given, "--max-leaves", 2, "--out", tmp_path).code == 0
    passed = run("verify", tmp_path)
    assert passed.code == 0
    assert "1 file of one run (fit of 20" in passed.out
    document = run("verify", tmp_path, "--json").document
    assert document["whole"] is document["accepted"] is True
    assert document["manifest"]["options"]["target"] == "outcome"
    other, out = tmp_path / "tree.json", tmp_path / "compared"
    compared = run("compare", files.tree, other, "--plan", "max_dissimilarity=0", "--out", out)
    assert compared.code == 3, compared.err
    result = run("verify", out, "--json")
    assert (result.code, result.document["whole"], result.document["accepted"]) == (3, True, False)
    assert "it ended with code 3: its plan did not hold" in run("verify", out).out
    with other.open("a") as file:
        file.write(" ")
    failed = run("verify", tmp_path)
    assert failed.code == 3
    assert "tree.json is not the file that the run wrote" in failed.out


def test_what_no_run_wrote_is_bad_input(run: Run, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "no"):
        result = run("verify", folder)
        assert result.code == 2
        assert "expected a folder with a manifest.json" in result.err
