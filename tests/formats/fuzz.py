"""Spoil valid files in every way at hand, and read them: a tree or our own error, in time.

``python -m tests.formats.fuzz NAME SECONDS [SEED [FILES]]`` fuzzes one of ``PARSERS`` in a
process of its own with bounded memory, and ends with 1 on the first crash, hang or foreign
exception; the file is then kept for whoever mends it, and its number and the seed make it again.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy as np

import steadytree as st
from steadytree.exceptions import SteadyTreeError
from steadytree.plugins import READERS
from tests.formats.mutations import spoil
from tests.modules import mirror_of
from tests.retraining.histories import seal_again, write

__all__ = ["PARSERS", "assert_short", "fuzz", "use"]

MEMORY = 3 * 2**29
"""Bytes beside what the imports and the valid files take."""
HANGS_AFTER = 30  # seconds for a file of a few kilobytes, on a machine that does other things too
LONGEST_MESSAGE = 5_000


def assert_short(error: SteadyTreeError) -> None:
    """Check that a message can be read, whatever it quotes."""
    assert len(str(error)) < LONGEST_MESSAGE, str(error)[:500]


def use(tree: st.Tree) -> None:
    """Do with a tree what people do first: look at it, and decide with it."""
    assert str(tree)
    rows = np.zeros((2, tree.n_features), dtype=object)
    assert len(tree.predict(rows)) == 2


# -- the parsers -----------------------------------------------------------------------------


def _read_model(path: Path, rng: Random) -> None:
    use(st.as_tree(path))


def _read_history(path: Path, rng: Random) -> None:
    if rng.random() < 0.7:  # else every change is noticed by the digests alone
        with suppress(ValueError):
            lines = [json.loads(line) for line in path.read_bytes().splitlines()]
            write(path, seal_again(line for line in lines if isinstance(line, dict)))
    history = st.History(path)
    assert len(history.versions) == len(history)
    for number in range(1, len(history) + 1):
        use(history.tree(number))


def _sample_histories(folder: Path) -> list[Path]:
    X = [[float(i), float(i % 7)] for i in range(60)]
    space = st.FeatureSpace.from_data(X)
    history = st.History(folder / "history.jsonl")
    for cut in (20.0, 30.0, 31.0):
        one = {"feature": 0, "threshold": cut, "left": {"label": "no"}, "right": {"label": "yes"}}
        content = {"features": ["a", "b"], "tree": one | {"feature": "a"}}
        tree = st.as_tree(content).replace(space=space.replace(names=("a", "b")))
        history.append(tree, note="made by hand")
    history.approve(1, by="somebody")
    return [folder / "history.jsonl"]


def _read_table(path: Path, rng: Random) -> None:
    read_training = import_module("steadytree.cli.tables").read_training
    table, _ = read_training(path, "died", rng.choice(["classification", "regression"]))
    assert len(table.X) == len(table.y)


def _sample_tables(folder: Path) -> list[Path]:
    rng = Random(0)
    lines = ["age,colour,dose,when,died"]
    for _ in range(60):
        colour = rng.choice(["red", "blue", "", '"a, b"'])
        dose = f"{rng.random():.3f}" if rng.random() < 0.9 else "NA"
        lines.append(f"{rng.randrange(90)},{colour},{dose},{rng.randrange(9)},{rng.randrange(2)}")
    (folder / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    return [folder / "table.csv"]


def _parses_files(module: str) -> bool:
    # A pickle runs what it holds: it is refused, not parsed.
    reader = import_module(module)
    return hasattr(reader, "reads_file") and not getattr(reader, "EXECUTES_FILES", False)


Parser = tuple[Callable[[Path], list[Path]], Callable[[Path, Random], Any]]
PARSERS: dict[str, Parser] = {
    "history": (_sample_histories, _read_history),
    "table": (_sample_tables, _read_table),
}
for _name, _module in READERS.items():
    if _parses_files(_module):
        PARSERS[_name] = (
            lambda folder, module=_module: mirror_of(module).sample_files(folder),
            _read_model,
        )


# -- the run ---------------------------------------------------------------------------------


def _hangs(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not done after {HANGS_AFTER} s")


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def fuzz(name: str, seconds: float, seed: int, least: int = 0) -> int:
    """Read spoilt files for a while, but so many at least; return how many."""
    signal.signal(signal.SIGALRM, _hangs)
    samples_in, read = PARSERS[name]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        samples = samples_in(Path(folder))
        valid = [(path.suffix, path.read_bytes()) for path in samples]
        for path in samples:
            read(path, Random(0))  # they are valid
        _bound_memory()
        end = time.monotonic() + seconds  # the library that made them takes its time to import
        while count < least or time.monotonic() < end:
            rng = Random(f"{seed}-{count}")
            suffix, content = rng.choice(valid)
            file = Path(folder) / f"spoilt{suffix}"
            file.write_bytes(spoil(content, rng))
            signal.alarm(HANGS_AFTER)
            try:
                read(file, rng)
            except SteadyTreeError as error:
                assert_short(error)
            except BaseException:
                kept = Path(tempfile.gettempdir()) / f"steadytree-fuzz-{name.split()[0]}{suffix}"
                kept.write_bytes(file.read_bytes())
                print(f"{name}: file {count} of seed {seed}, kept as {kept}", file=sys.stderr)
                raise
            finally:
                signal.alarm(0)
            count += 1
    return count


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")  # of what a spoilt file holds
    _, chosen, duration, *more = sys.argv
    print(fuzz(chosen, float(duration), *map(int, more or ["0"])))
