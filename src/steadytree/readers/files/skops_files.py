"""Read ``.skops`` files: scikit-learn models saved without pickle, only the types needed trusted.

skops checks which types a file names, not what it puts into them: a crafted ``Tree`` of
scikit-learn can make native code read past its arrays. So the description of the model is
checked here first: every type is one that can be read as a tree, arrays are as long as they
say, and the nodes of trees are trees. What was checked is what skops is given: a new file
without the references by which one part can stand for another.
"""

from __future__ import annotations

import io
import json
import math
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree._io import MAX_FILE_BYTES, MAX_UNLISTED_FEATURES, parse_json, read_bytes
from steadytree._optional import import_optional
from steadytree._text import quoted
from steadytree.exceptions import SteadyTreeError, TreeFormatError
from steadytree.readers import read_model
from steadytree.readers.files.skops_types import TRUSTED
from steadytree.readers.stored_nodes import check_features
from steadytree.tree.checks import check_shape_of_tree
from steadytree.tree.tree import Tree

__all__ = ["FILES", "load_file", "read_file", "reads_file"]

FILES = "skops files of scikit-learn models (.skops)"

MAX_MEMBERS = 100_000
MAX_SCHEMA_BYTES = 64 * 2**20
MAX_PARTS = 2_000_000
"""Objects that a model may consist of."""
OLDEST_PROTOCOL = 1
"""Before it skops named functions in another place than the one that is checked."""

_SCHEMA = "schema.json"
_BEGINNING = re.compile(rb"PK\x03\x04.{26}(\d+\.npy|schema\.json)", re.DOTALL)

Part = dict[str, Any]

_NOTHING: Part = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is skops': by its name, or by what its archive begins with."""
    return path.suffix.lower() == ".skops" or bool(_BEGINNING.match(start))


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Check and load the model in a file, and read it."""
    model = load_file(path)
    try:
        return read_model(model, tree_index=tree_index)
    except SteadyTreeError:
        raise
    except Exception as error:  # a model with parts that no fit would give it
        raise TreeFormatError(
            f"{path}: expected a whole {type(model).__name__}, got {type(error).__name__}: {error}"
        ) from None


def load_file(path: Path) -> Any:
    """Return the model in a file, checked before it is made."""
    skops_io = import_optional("skops.io", purpose="Reading a .skops file", extra="skops")
    try:
        checked = _checked(read_bytes(path))
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None
    names = sorted(name for group in TRUSTED.values() for name in group)
    try:
        return skops_io.loads(checked, trusted=names)
    except Exception as error:  # whatever skops or scikit-learn make of what the file says
        raise TreeFormatError(
            f"{path}: expected a model that skops can load, got {type(error).__name__}: {error}"
        ) from None


# -- the archive ----------------------------------------------------------------------------------


def _checked(content: bytes) -> bytes:
    """Return the same model as a new archive of parts that were checked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _members(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise TreeFormatError(
            f"expected a zip archive, got {error}; the file may be cut off"
        ) from None
    except Exception as error:  # of the decompressors, each with its own
        raise TreeFormatError(f"expected a zip archive, got a damaged one: {error}") from None
    if _SCHEMA not in members:
        raise TreeFormatError(f"expected a skops file with a {_SCHEMA}, got an archive without")
    if len(members[_SCHEMA]) > MAX_SCHEMA_BYTES:
        raise TreeFormatError(f"expected a {_SCHEMA} of at most {MAX_SCHEMA_BYTES:,} bytes")
    schema = parse_json(members[_SCHEMA])
    if not isinstance(schema, dict):
        raise TreeFormatError(f"expected a model in {_SCHEMA}, got {type(schema).__name__}")
    if not isinstance(schema.get("protocol"), int) or schema["protocol"] < OLDEST_PROTOCOL:
        raise TreeFormatError(
            f"expected skops' protocol {OLDEST_PROTOCOL} or newer, got "
            f"{quoted(schema.get('protocol'))}; "
            "save the model again with a newer skops"
        )
    arrays = _check_parts(schema, members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in arrays:
            archive.writestr(name, members[name])
        archive.writestr(_SCHEMA, json.dumps(schema))
    return out.getvalue()


def _members(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the files of an archive, if they are not larger than they can be together."""
    entries = archive.infolist()
    # A member never gives more bytes than its entry announces: the announcements are the bound.
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_MEMBERS or total > MAX_FILE_BYTES:
        raise TreeFormatError(
            f"expected at most {MAX_MEMBERS:,} files of {MAX_FILE_BYTES:,} bytes together, "
            f"got {len(entries):,} of {total:,}"
        )
    return {entry.filename: archive.read(entry) for entry in entries}


# -- the parts ------------------------------------------------------------------------------------


def _check_parts(schema: Part, members: dict[str, bytes]) -> set[str]:
    """Check every part of a model; take out the references; return the names of the arrays."""
    arrays: set[str] = set()
    waiting: list[Any] = [schema]
    trees: list[Part] = []
    count = 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
            continue
        if not isinstance(part, dict):
            continue
        count += 1
        if count > MAX_PARTS:
            raise TreeFormatError(f"expected at most {MAX_PARTS:,} parts, got more")
        if "__loader__" in part:
            if part["__loader__"] == "RandomGeneratorNode":
                # Left over from boosting, and skops calls what it names: nobody needs it here.
                part.clear()
                part.update(_NOTHING)
            _check_type(part)
            part.pop("__id__", None)
            if part["__loader__"] == "NdArrayNode" and part.get("type") == "numpy":
                arrays.add(_array_name(part, members))
            if part["__loader__"] == "TreeNode":
                trees.append(part)
        waiting += part.values()
    for part in trees:
        _check_tree(part, members)
    return arrays


def _check_type(part: Part) -> None:
    name = f"{part.get('__module__')}.{part.get('__class__')}"
    if name not in TRUSTED.get(str(part["__loader__"]), ()):
        raise TreeFormatError(
            f"expected only types of models that are read as trees, got {name[:200]!r} "
            f"({str(part['__loader__'])[:40]}); if you trust whoever made the file, load it with "
            "skops.io.load and pass the model"
        )


def _array_name(part: Part, members: dict[str, bytes]) -> str:
    name = part.get("file")
    if not isinstance(name, str) or name == _SCHEMA or name not in members:
        raise TreeFormatError(f"expected the array {str(name)[:80]!r} in the archive, got none")
    _array(members[name])
    return name


def _array(content: bytes) -> NDArray[Any]:
    """Return an array in numpy's format, if all that it announces is there."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0
        if version[0] != 1:
            header = np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that numpy has to mend is not skops'
            shape, _, dtype = header(stream)
        n, there = math.prod(shape), len(content) - stream.tell()
        if dtype.hasobject or dtype.itemsize == 0 or not 0 <= n * dtype.itemsize <= there:
            raise ValueError(f"shape {shape} of {dtype} in {there} bytes")
        stream.seek(0)
        return np.asarray(np.load(stream, allow_pickle=False))
    except Exception as error:  # numpy parses the header as Python, with errors of all kinds
        raise TreeFormatError(f"expected an array of numpy, got {error}") from None


def _check_tree(part: Part, members: dict[str, bytes]) -> None:
    """Check what scikit-learn's native code takes on trust: counts, children and features."""
    try:
        n_features, n_classes, n_outputs = part["__reduce__"]["args"]["content"]
        state = part["content"]["content"]
        features, outputs = _whole(n_features), _whole(n_outputs)
        classes = _array(members[_array_name(n_classes, members)])
        count = _whole(state["node_count"])
        nodes = _array(members[_array_name(state["nodes"], members)])
        left, right, feature = (nodes[key] for key in ("left_child", "right_child", "feature"))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise TreeFormatError("expected a tree as skops writes it, got another") from None
    if classes.shape != (outputs,) or not 0 < features <= MAX_UNLISTED_FEATURES:
        raise TreeFormatError(
            f"expected the classes of {outputs} outputs and "
            f"1 to {MAX_UNLISTED_FEATURES:,} features, "
            f"got shape {classes.shape} and {features}"
        )
    if nodes.shape != (count,) or count < 1 or left.dtype.kind != "i" or feature.dtype.kind != "i":
        raise TreeFormatError(f"expected a table of {count} nodes, got shape {nodes.shape}")
    for side in (left, right):
        if (np.abs(side) >= 2**31).any():
            raise TreeFormatError(f"expected children in [0, {count}), got others")
    leaf = check_shape_of_tree(left.astype(np.int32), right.astype(np.int32))
    check_features(feature[~leaf].tolist(), features)


def _whole(part: Any) -> int:
    number = parse_json(part["content"]) if part["__loader__"] == "JsonNode" else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError
    return number
