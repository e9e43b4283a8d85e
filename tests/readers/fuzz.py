"""Damage valid model files in every way at hand, and read them: a tree or our own error, in time.

``python -m tests.readers.fuzz NAME SECONDS [SEED [FILES]]`` fuzzes one reader of ``READERS`` in a
process of its own with bounded memory, and ends with 1 on the first crash, hang or foreign
exception; the file is then kept for whoever mends it.
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from types import FrameType

import steadytree as st
from steadytree.exceptions import SteadyTreeError
from steadytree.readers import READERS
from tests.modules import mirror_of

MEMORY = 6 * 2**30
HANGS_AFTER = 20  # seconds for a file of a few kilobytes
TOKENS = [
    *(b"0", b"-1", b"1", b"2", b"255", b"256", b"65536", b"2147483647", b"2147483648"),
    *(b"-2147483649", b"1e400", b"-1e400", b"NaN", b"nan", b"inf", b"-Infinity", b"null", b"true"),
    *(b"[]", b"{}", b'""', b"'", b'"', b"<", b">", b"&", b"\x00", b"\xff\xfe", b"\xed\xa0\x80"),
    *(b"99999999999999999999", b"1_0", b"0x10", b"1" * 400, b"[" * 300, b"{" * 300, b"(" * 300),
]


def damage(content: bytes, rng: Random) -> bytes:
    """Change a file in one to four places."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if not data:
            break
        at = rng.randrange(len(data))
        length = rng.choice([1, 1, 2, 4, 8, 64, len(data) // 4 + 1])
        how = rng.randrange(8)
        if how == 0:  # flip a bit
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:  # another byte
            data[at] = rng.randrange(256)
        elif how == 2:  # cut out
            del data[at : at + length]
        elif how == 3:  # say twice
            data[at:at] = data[at : at + length]
        elif how == 4:  # cut off
            del data[at:]
        elif how == 5:  # something special
            data[at : at + rng.choice([0, 1, length])] = rng.choice(TOKENS)
        elif how == 6:  # another number in the place of one
            data = _other_number(data, rng)
        else:  # exchange two stretches
            other = rng.randrange(len(data))
            one, two = data[at : at + length], data[other : other + length]
            data[at : at + len(two)], data[other : other + len(one)] = two, one
    return bytes(data)


def _other_number(data: bytearray, rng: Random) -> bytearray:
    digits = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
    if not digits:
        return data
    start = stop = rng.choice(digits)
    while start > 0 and chr(data[start - 1]) in "0123456789.-+eE":
        start -= 1
    while stop < len(data) and chr(data[stop]) in "0123456789.-+eE":
        stop += 1
    return data[:start] + rng.choice(TOKENS[:18]) + data[stop:]


def _hangs(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not done after {HANGS_AFTER} s")


def fuzz(name: str, seconds: float, seed: int, least: int = 0) -> int:
    """Read damaged files for a while, but so many at least; return how many."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _hangs)
    rng = Random(seed)
    module = READERS[name].rpartition(".")[2]
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        samples = mirror_of(READERS[name]).sample_files(Path(folder))
        valid = [(path.suffix, path.read_bytes()) for path in samples]
        for path in samples:
            st.as_tree(path)  # they are valid
        end = time.monotonic() + seconds  # the library that made them takes its time to import
        while count < least or time.monotonic() < end:
            suffix, content = rng.choice(valid)
            file = Path(folder) / f"damaged{suffix}"
            file.write_bytes(damage(content, rng))
            signal.alarm(HANGS_AFTER)
            try:
                st.as_tree(file)
            except SteadyTreeError:
                pass
            except BaseException:
                kept = Path(tempfile.gettempdir()) / f"steadytree-fuzz-{module}{suffix}"
                kept.write_bytes(file.read_bytes())
                print(f"{name}: after {count} files (seed {seed}), kept as {kept}", file=sys.stderr)
                raise
            finally:
                signal.alarm(0)
            count += 1
    return count


if __name__ == "__main__":
    _, reader, duration, *more = sys.argv
    print(fuzz(reader, float(duration), *map(int, more or ["0"])))
