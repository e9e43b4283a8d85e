"""Read pickle and joblib files, which run whatever their author put into them.

Asked only with ``allow_pickle=True``; without it the file is refused before anything is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steadytree.plugins import Tree, TreeFormatError, quoted, read_model

EXECUTES_FILES = True
FILES = "with allow_pickle=True pickle and joblib files (.pkl, .pickle, .joblib)"

NAMES = (".joblib", ".pickle", ".pkl")
_PROTOCOLS = (2, 3, 4, 5)


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is a pickle: by its name, or by how pickles begin."""
    pickled = len(start) > 1 and start[0] == 0x80 and start[1] in _PROTOCOLS
    return pickled or any(suffix.lower() in NAMES for suffix in path.suffixes[-2:])


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Load the model in a file, which runs the file, and read it."""
    return read_model(load_file(path), tree_index=tree_index)


def load_file(path: Path) -> Any:
    """Load the model in a file, which runs the file."""
    import joblib

    try:
        return joblib.load(path)
    except ModuleNotFoundError as error:
        raise TreeFormatError(
            f"{path}: expected a pickle of installed packages, got one that needs "
            f"{quoted(error.name)}; install it, in the version that the model was saved with"
        ) from error
    except Exception as error:  # of the file, or of the code in it
        raise TreeFormatError(
            f"{path}: expected a whole pickle of this environment's packages, "
            f"got {type(error).__name__}: {error}; "
            "the file may be cut off or saved with another version of a package"
        ) from error
