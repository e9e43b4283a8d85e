"""Which modules are tried, and which tests are asked about each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "steadytree"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Target:
    """One module; ``tests`` are folders or files, the module's own first.

    ``plain`` runs numba's functions as Python: compiling them anew for each fault would take
    minutes, and the arithmetic is the same. ``slow`` names tests that then take too long.
    """

    module: str
    tests: tuple[str, ...]
    plain: bool = False
    slow: str = ""

    @property
    def path(self) -> Path:
        return SOURCE / f"{self.module}.py"

    @property
    def dotted(self) -> str:
        return "steadytree." + self.module.replace("/", ".").removesuffix(".__init__")

    @property
    def own_test(self) -> str:
        """The file that mirrors the module."""
        *folders, name = self.module.split("/")
        parts = [part.strip("_") for part in folders]
        return "/".join(["tests", *parts, f"test_{name.strip('_')}.py"])

    def test_files(self) -> list[str]:
        """Every file of tests, relative to the project, the module's own first."""
        found = []
        for place in (self.own_test, *self.tests):
            path = ROOT / place
            files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
            found += [str(file.relative_to(ROOT)) for file in files if file.exists()]
        return list(dict.fromkeys(found))


def _folder(folder: str, *tests: str, plain: bool = False, slow: str = "") -> list[Target]:
    return [
        Target(str(path.relative_to(SOURCE).with_suffix("")), tests, plain, slow)
        for path in sorted((SOURCE / folder).glob("*.py"))
        if path.stem != "__init__" or "def " in path.read_text(encoding="utf-8")
    ]


def _files(pattern: str, *tests: str) -> list[Target]:
    return [
        Target(str(path.relative_to(SOURCE).with_suffix("")), tests)
        for path in sorted(SOURCE.glob(pattern))
    ]


SLOW_AS_PYTHON = "320-320 or 200-205 or 150-400 or 100-1500 or 128-256 or 64-300 or large_trees"
DIFF = ("build", "directions", "edits", "pairing", "splits", "tree_diff")

TARGETS: dict[str, Target] = {
    target.module: target
    for target in [
        Target(
            "tree/paths",
            (
                "tests/tree/test_paths.py",
                "tests/tree/test_walk.py",
                "tests/distance/test_distances.py",
            ),
        ),
        Target("estimators/selection", ("tests/estimators/test_selection.py",)),
        *_folder("distance", "tests/distance"),
        *_folder(
            "distance/_solver",
            "tests/distance/test_assignment.py",
            "tests/distance/test_solver.py",
            plain=True,
            slow=SLOW_AS_PYTHON,
        ),
        *_folder("evaluation", "tests/evaluation"),
        *_folder("diff", *(f"tests/diff/test_{name}.py" for name in DIFF)),
        Target(
            "retraining/frontier",
            tuple(f"tests/retraining/test_{name}.py" for name in ("frontier", "answer")),
        ),
        *_files(
            "retraining/history*.py",
            *(
                f"tests/retraining/{p.name}"
                for p in sorted((TESTS / "retraining").glob("test_history*.py"))
            ),
        ),
    ]
}
