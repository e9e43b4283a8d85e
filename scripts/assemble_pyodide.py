"""Put together what the try-it page runs: Python in the browser, with steadytree in it.

    python scripts/assemble_pyodide.py DEST
    python scripts/assemble_pyodide.py DEST --page docs/_build/html/try
    python scripts/assemble_pyodide.py DEST --from unpacked-pyodide-distribution

DEST is filled with the runtime: Pyodide (CPython compiled to WebAssembly), the wheels that
steadytree needs, steadytree's own wheel made from this checkout, a lock file reduced to these,
and ``runtime.json``, which lists them. A second call finds everything there and does nothing;
after a change of ``src/`` it makes the one wheel again. DEST is whole or not there. ``--page``
writes the page itself as well, with the runtime beside it: a folder that any server of plain
files can serve.

Where the files come from, through the ordinary clients and whatever registry they are set up for:

- ``npm pack pyodide``: the interpreter, its standard library, and Pyodide's own lock file.
- ``pip download open-webui``: an application that ships Pyodide's wheels unchanged (NumPy, SciPy,
  scikit-learn, pandas and others, compiled to WebAssembly; the registry has them nowhere else).
  The wheel is only unpacked: nothing of the application is run or kept.
- ``pip download jinja2 markupsafe``: two wheels that are not in there. MarkupSafe's compiled part
  is left out; the package then uses its own slower one in Python.
- ``pip wheel .``: steadytree.

Why they are to be trusted, wherever they come from: every wheel must have the SHA-256 that
Pyodide's lock file has for it. The lock file and the interpreter, and the two wheels that the
registry has in another build than the lock, must have the SHA-256 written below. Whoever has a
full Pyodide distribution gives it with ``--from``; its wheels are held against its own lock, and
nothing else is downloaded (but the build tool of steadytree's wheel, where it is missing).
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "try"
MANIFEST = "runtime.json"
RUNTIME = "runtime"
"""The runtime's folder beside the page."""
LOCK = "pyodide-lock.json"

PYODIDE = "314.0.3"
CORE = {
    "pyodide.mjs": "5cfc46f5dcbaf2a16f26e2363f441873eb424762609cc03db00d6a2ace4d00e5",
    "pyodide.asm.mjs": "1a9775427ef6e8abaa7db88ece0515422d1886915ae5c9093776410c865dfd8d",
    "pyodide.asm.wasm": "e7f8fac36f8bf11085309cbc5c829b3ec3057c18bf1d73b05a6741612d63cdbf",
    "python_stdlib.zip": "444c770dfd75a32097fc0a7d5c1413fd3140601f49c3a1f2e9af0376fcd124b4",
    LOCK: "c963d22858f6bcb8f41586a2142f03905ab370c88ea22a86a2736e95fac2a8f3",
}
"""The interpreter and the lock: the lock cannot vouch for itself."""

CARRIER, CARRIED_IN = "open-webui==0.12.4", "open_webui/frontend/pyodide/"
CARRIED = (
    *("six", "python-dateutil", "pytz", "numpy", "pandas", "scipy", "joblib", "threadpoolctl"),
    *("scikit-learn", "click"),
)
"""Wheels that the lock has the SHA-256 of, in the order in which they are loaded."""

PURE = {
    "markupsafe": (
        "0bf2a864d67e76e5c9a34dc26ec616a66b9888e25e7b9460e1c76d3293bd9dbf",
        ("--python-version=3.11", "--platform=manylinux2014_x86_64"),
    ),
    "jinja2": ("85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67", ()),
}
"""Wheels of the registry in the versions of the lock: their SHA-256, and which of several."""
COMPILED = ("markupsafe/_speedups",)
"""What is left out of them."""

DEPENDS = ("numpy", "scipy", "scikit-learn", "pandas", "joblib", "jinja2", "click")
"""What steadytree imports; numba is not to be had there, and done without."""


class AssemblyError(Exception):
    """The runtime cannot be put together; the message says what to do."""


def assemble(dest: Path, distribution: Path | None = None) -> bool:
    """Fill ``dest`` with the runtime; False where it was whole already."""
    source = _source_digest()
    have = _whole_manifest(dest)
    kept = have is not None and (distribution is None or have["from"] == "a distribution")
    if kept and have is not None and have["source"] == source:
        return False
    dest.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{dest.name}-", dir=dest.parent) as temporary:
        made, work = Path(temporary) / "runtime", Path(temporary) / "work"
        made.mkdir()
        work.mkdir()
        if kept and have is not None:
            for name in have["files"]:
                if name not in (have["wheel"], LOCK):
                    _copy(dest / name, made / name)
            lock = json.loads((dest / LOCK).read_text(encoding="utf-8"))
            origin = have["from"]
        elif distribution is not None:
            lock, origin = _from_distribution(distribution, made), "a distribution"
        else:
            lock, origin = _from_registries(made, work), "the registries"
        wheel, version = _own_wheel(made, work)
        lock["packages"]["steadytree"] = _lock_entry(
            "steadytree", version, made / wheel, depends=list(DEPENDS)
        )
        _write_json(made / LOCK, lock)
        files = sorted(path for path in made.iterdir() if path.is_file())
        _write_json(
            made / MANIFEST,
            {
                "pyodide": PYODIDE if distribution is None and not kept else _version(lock, have),
                "from": origin,
                "source": source,
                "steadytree": version,
                "wheel": wheel,
                "packages": [*CARRIED, *PURE, "steadytree"],
                "files": {path.name: _sha256(path) for path in files},
                "bytes": sum(path.stat().st_size for path in files),
            },
        )
        _swap(made, dest, Path(temporary) / "before")
    return True


def write_page(page: Path, runtime: Path) -> None:
    """Write the page with the runtime beside it; a page that is there is replaced."""
    page.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{page.name}-", dir=page.parent) as temporary:
        made = Path(temporary) / "page"
        shutil.copytree(PAGE, made, ignore=shutil.ignore_patterns("__pycache__", RUNTIME))
        (made / RUNTIME).mkdir()
        for name in (*_manifest(runtime)["files"], MANIFEST):
            _copy(runtime / name, made / RUNTIME / name)
        _swap(made, page, Path(temporary) / "before")


# -- where files come from -------------------------------------------------------------------


def _from_registries(made: Path, work: Path) -> dict[str, Any]:
    """Fetch the interpreter and the wheels; returns the reduced lock."""
    _say(f"fetching Pyodide {PYODIDE}")
    _run("npm", "pack", "--silent", f"pyodide@{PYODIDE}", "--pack-destination", str(work))
    with tarfile.open(_only(work, "pyodide-*.tgz")) as archive:
        for name, digest in CORE.items():
            member = archive.extractfile(f"package/{name}")
            if member is None:
                raise AssemblyError(f"expected {name} in npm's pyodide@{PYODIDE}, got no such file")
            _write_checked(made / name, member.read(), digest, f"npm's pyodide@{PYODIDE}")
    lock = json.loads((made / LOCK).read_text(encoding="utf-8"))
    _say(f"fetching wheels out of {CARRIER}")
    _download(work, CARRIER, "--ignore-requires-python")
    with zipfile.ZipFile(_only(work, "open_webui-*.whl")) as carrier:
        for name in CARRIED:
            entry = lock["packages"][name]
            content = carrier.read(CARRIED_IN + entry["file_name"])
            _write_checked(made / entry["file_name"], content, entry["sha256"], CARRIER)
    packages = {name: lock["packages"][name] for name in CARRIED}
    for name, (digest, which) in PURE.items():
        entry = lock["packages"][name]
        version = entry["version"]
        _say(f"fetching {name} {version}")
        _download(work, f"{name}=={version}", "--only-binary=:all:", *which)
        found = _only(work, f"{name}-*.whl")
        _check(found.read_bytes(), digest, f"{name}=={version}")
        wheel = made / f"{name}-{version}-py3-none-any.whl"
        wheel.write_bytes(_without_compiled(found))
        packages[name] = _lock_entry(name, version, wheel, depends=entry["depends"])
    return {"info": lock["info"], "packages": packages}


def _from_distribution(distribution: Path, made: Path) -> dict[str, Any]:
    """Take everything from a Pyodide distribution; returns the reduced lock."""
    for name in CORE:
        if not (distribution / name).is_file():
            raise AssemblyError(
                f"expected an unpacked Pyodide distribution, got no {name} in {distribution}; name "
                "the folder that has pyodide.mjs and the wheels"
            )
        _copy(distribution / name, made / name)
    lock = json.loads((made / LOCK).read_text(encoding="utf-8"))
    packages = {}
    for name in (*CARRIED, *PURE):
        entry = lock["packages"].get(name)
        if entry is None or not (distribution / entry["file_name"]).is_file():
            raise AssemblyError(
                f"expected the wheel of {name} in {distribution}, got none; take the full "
                "distribution rather than the core"
            )
        content = (distribution / entry["file_name"]).read_bytes()
        _write_checked(
            made / entry["file_name"], content, entry["sha256"], str(distribution / LOCK)
        )
        packages[name] = entry
    return {"info": lock["info"], "packages": packages}


def _own_wheel(made: Path, work: Path) -> tuple[str, str]:
    """Make steadytree's wheel; returns the name of its file, and its version."""
    _say("making steadytree's wheel")
    # With the build tool at hand nothing is fetched for it.
    here = ("--no-build-isolation",) if importlib.util.find_spec("hatchling") else ()
    _run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", *here),
        *("--wheel-dir", str(work / "own"), str(ROOT)),
    )
    wheel = _only(work / "own", "steadytree-*.whl")
    content = wheel.read_bytes()
    name, version, *tags = wheel.name.split("-")
    # Its bytes are part of its name: a browser never takes an earlier one for it.
    build = f"0{hashlib.sha256(content).hexdigest()[:12]}"
    file_name = "-".join([name, version, build, *tags])
    (made / file_name).write_bytes(content)
    return file_name, version


def _without_compiled(wheel: Path) -> bytes:
    """Return a wheel for any platform: what is compiled for one is left out."""
    with zipfile.ZipFile(wheel) as given:
        files = {
            name: given.read(name)
            for name in given.namelist()
            if not name.startswith(COMPILED) and not name.endswith((".dist-info/RECORD", "/"))
        }
        if len(files) == len(given.namelist()) - 1:
            return wheel.read_bytes()
    folder = next(name for name in files if name.endswith(".dist-info/WHEEL")).partition("/")[0]
    files[f"{folder}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: assemble_pyodide\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(
        f"{name},sha256={_record_digest(content)},{len(content)}\n"
        for name, content in files.items()
    )
    files[f"{folder}/RECORD"] = f"{record}{folder}/RECORD,,\n".encode()
    with tempfile.TemporaryFile() as made:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                # One date for all: the same files give the same bytes.
                dated = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
                archive.writestr(dated, content, zipfile.ZIP_DEFLATED)
        made.seek(0)
        return made.read()


def _record_digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _lock_entry(name: str, version: str, wheel: Path, *, depends: Sequence[str]) -> dict[str, Any]:
    return {
        "name": name,
        "version": version,
        "file_name": wheel.name,
        "sha256": _sha256(wheel),
        "install_dir": "site",
        "package_type": "package",
        "imports": [name],
        "depends": list(depends),
        "unvendored_tests": False,
    }


def _version(lock: Mapping[str, Any], have: Mapping[str, Any] | None) -> str:
    if have is not None:
        return str(have["pyodide"])
    return f"of the distribution (Python {lock['info']['python']})"


# -- files -------------------------------------------------------------------------------------


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return found


def _whole_manifest(folder: Path) -> dict[str, Any] | None:
    """Return what a folder says it holds, if it does and this script would put the same there."""
    try:
        have = _manifest(folder)
        whole = have["packages"] == [*CARRIED, *PURE, "steadytree"] and all(
            _sha256(folder / name) == digest for name, digest in have["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not whole:
        return None
    current = have["from"] == "a distribution" or have["pyodide"] == PYODIDE
    return have if current else None


def _source_digest() -> str:
    """Digest of what steadytree's wheel is made from."""
    digest = hashlib.sha256()
    paths = [p for p in (ROOT / "src").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    for path in (*sorted(paths), ROOT / "pyproject.toml", ROOT / "README.md"):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{_sha256(path)}\n".encode())
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(content: bytes, digest: str, origin: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != digest:
        raise AssemblyError(
            f"expected the SHA-256 {digest} of a file from {origin}, got {got}: it is damaged or "
            "not the file that was published; fetch it again, or give a distribution that you "
            "trust with --from"
        )


def _write_checked(path: Path, content: bytes, digest: str, origin: str) -> None:
    _check(content, digest, f"{origin} ({path.name})")
    path.write_bytes(content)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    """Link a file, or copy it where that cannot be: forty megabytes need not be there twice."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _swap(made: Path, dest: Path, before: Path) -> None:
    """Put a finished folder into its place; what was there goes."""
    if dest.exists():
        dest.rename(before)
    try:
        made.rename(dest)
    except OSError:
        if before.exists():
            before.rename(dest)
        raise


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        raise AssemblyError(f"expected one file {pattern} from the client, got {len(found)}")
    return found[0]


# -- clients -----------------------------------------------------------------------------------


def _download(work: Path, requirement: str, *options: str) -> None:
    _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *(*options, "--dest", str(work), requirement),
    )


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise AssemblyError(
            f"expected the program {command[0]}, got none on the PATH; install it, or give a "
            "Pyodide distribution with --from"
        ) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise AssemblyError(
            f"expected {' '.join(command[:4])} ... to end well, got code {done.returncode} "
            f"({' / '.join(said)}); see whether its registry can be reached, or give a Pyodide "
            "distribution with --from"
        )


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


@contextmanager
def _told_errors() -> Iterator[None]:
    try:
        yield
    except AssemblyError as error:
        sys.exit(f"Error: {error}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Put together what the try-it page runs.")
    parser.add_argument("dest", type=Path, metavar="DEST", help="folder of the runtime")
    parser.add_argument(
        "--from",
        dest="distribution",
        type=Path,
        metavar="DIR",
        help="an unpacked Pyodide distribution, instead of the registries",
    )
    parser.add_argument(
        "--page", type=Path, metavar="FOLDER", help="write the page there too, with the runtime"
    )
    given = parser.parse_args(arguments)
    with _told_errors():
        made = assemble(given.dest.absolute(), given.distribution)
        if given.page is not None:
            write_page(given.page.absolute(), given.dest.absolute())
    size = _manifest(given.dest)["bytes"] / 1e6
    _say(f"{given.dest}: {size:.0f} MB" + ("" if made else ", already there"))


if __name__ == "__main__":
    main()
