"""Ways to spoil a valid file: byte by byte, or in the terms of its own format.

Damaged bytes mostly stop at the first bracket. What a stranger means to do to us stands in files
that are well formed: entries said twice, counts of millions, deep nesting, halves of characters,
a list where a number belongs.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any
from xml.etree import ElementTree

__all__ = ["damage", "spoil", "spoil_json"]

TOKENS = [
    *(b"0", b"-1", b"1", b"2", b"255", b"256", b"65536", b"2147483647", b"2147483648"),
    *(b"-2147483649", b"1e400", b"-1e400", b"NaN", b"nan", b"inf", b"-Infinity", b"null", b"true"),
    *(b"[]", b"{}", b'""', b"'", b'"', b"<", b">", b"&", b"\x00", b"\xff\xfe", b"\xed\xa0\x80"),
    *(b"99999999999999999999", b"1_0", b"0x10", b"1" * 400, b"[" * 300, b"{" * 300, b"(" * 300),
]
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, -0.0, 1e308, 5e-324, 2**31, -(2**31), 2**53 + 1),
    *(2**63, 2_000_000, 10**9, 10**30, 10**400, "", "a", "inf", "-inf", "nan", "0", "1e5", "\x00"),
    *("\ud800", "\u202e", "=1+1", "\x1b[31m", "é" * 3, "x" * 5000, [], [[]], {}, [0], [None]),
    *(["a"], {"a": 0}, [0] * 3000, [[0]] * 300, {"float": "nan"}, {"float": 1}),
    *(float("nan"), float("inf")),
]
SCALARS = ODD[:33]


def spoil(content: bytes, rng: Random) -> bytes:
    """Spoil a file in a way chosen at random."""
    if rng.random() < 0.4:
        return damage(content, rng)
    try:
        return _in_its_own_terms(content, rng)
    except (ValueError, KeyError, ElementTree.ParseError):  # of a sample that is partly binary
        return damage(content, rng)


def _in_its_own_terms(content: bytes, rng: Random) -> bytes:
    if content.startswith(b"PK"):
        return _spoil_archive(content, rng)
    start = content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if start == b"<":
        return _spoil_xml(content, rng)
    if start != b"{":
        return _spoil_lines(content, rng)
    lines = content.decode().splitlines()
    if len(lines) > 1 and all(line.startswith("{") for line in lines):  # one object a line
        at = rng.randrange(len(lines))
        lines[at] = spoil_json(lines[at], rng)
        if rng.random() < 0.2:
            rng.shuffle(lines)
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    return spoil_json(content.decode(), rng).encode("utf-8", "surrogatepass")


# -- bytes ---------------------------------------------------------------------------------


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


# -- JSON ----------------------------------------------------------------------------------


def spoil_json(text: str, rng: Random) -> str:
    """Change one to three entries of a JSON document, and now and then its text."""
    content = json.loads(text)
    for _ in range(rng.randint(1, 3)):
        places: list[tuple[Any, Any]] = []
        waiting = [content]
        while waiting:
            item = waiting.pop()
            inner = item.items() if isinstance(item, dict) else enumerate(item)
            for key, value in inner:
                places.append((item, key))
                if isinstance(value, (dict, list)):
                    waiting.append(value)
        if not places:
            break
        holder, key = rng.choice(places)
        try:
            rng.choice(_JSON_WAYS)(holder, key, rng, places)
        except RecursionError:  # spoilt deeper than Python itself can copy
            return text
    try:
        out = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    except RecursionError:  # or write
        return text
    if rng.random() < 0.1:  # an entry twice
        name = rng.choice([f'"{key}": ' for _, key in places if isinstance(key, str)] or ['"a": '])
        out = out.replace(name, f"{name}{json.dumps(rng.choice(ODD))}, {name}", 1)
    return out


def _replace(holder: Any, key: Any, rng: Random, places: Any) -> None:
    holder[key] = deepcopy(rng.choice(ODD))


def _remove(holder: Any, key: Any, rng: Random, places: Any) -> None:
    del holder[key]


def _exchange(holder: Any, key: Any, rng: Random, places: Any) -> None:
    """Put a copy of one entry in the place of another."""
    other, name = rng.choice(places)
    if (isinstance(other, list) and name < len(other)) or (
        isinstance(other, dict) and name in other
    ):
        holder[key] = json.loads(json.dumps(other[name]))


def _repeat(holder: Any, key: Any, rng: Random, places: Any) -> None:
    value = holder[key]
    if isinstance(value, list):
        value.extend(deepcopy(value[: rng.choice([1, 2, 50])]))
    elif isinstance(value, int):
        holder[key] = value + rng.choice([-1, 1, 1000, 10**6])
    else:
        holder[key] = [value]


def _nest(holder: Any, key: Any, rng: Random, places: Any) -> None:
    for _ in range(rng.choice([1, 2, 100, 300])):
        holder[key] = {"a": holder[key]} if rng.random() < 0.5 else [holder[key]]


def _rename(holder: Any, key: Any, rng: Random, places: Any) -> None:
    if isinstance(holder, dict):
        holder[rng.choice(["", "\ud800", "a", "x" * 3000, "nodes"])] = holder.pop(key)


_JSON_WAYS: list[Callable[..., None]] = [
    *(_replace, _replace, _replace, _remove, _exchange, _exchange, _repeat, _nest, _rename),
]


# -- archives, XML, lines ---------------------------------------------------------------------


def _spoil_archive(content: bytes, rng: Random) -> bytes:
    """Spoil one file of an archive; the checksums are right again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    if name.endswith(".json"):
        members[name] = spoil_json(members[name].decode(), rng).encode("utf-8", "surrogatepass")
    else:
        members[name] = damage(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def _spoil_xml(content: bytes, rng: Random) -> bytes:
    root = ElementTree.fromstring(content)
    for _ in range(rng.randint(1, 3)):
        parents = [one for one in root.iter() if len(one)] or [root]
        parent = rng.choice(parents)
        child = rng.choice(list(parent) or [parent])
        how = rng.randrange(6)
        if how == 0 and child is not parent:
            parent.remove(child)
        elif how == 1:
            parent.append(deepcopy(rng.choice(list(root.iter()))))
        elif how == 2:
            child.tag = rng.choice([one.tag for one in root.iter()])
        elif how == 3:
            child.text = rng.choice(["", "1 2 3", "nan", "x" * 5000, '"'])
        else:
            names = [*child.attrib] or ["value"]
            child.set(
                rng.choice(names), str(rng.choice(SCALARS)).replace("\ud800", "").strip("\x00")
            )
    return ElementTree.tostring(root, encoding="utf-8")


def _spoil_lines(content: bytes, rng: Random) -> bytes:
    """Spoil text by lines and by words; what is binary byte by byte."""
    text = content.decode()
    lines = text.split("\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        how = rng.randrange(6)
        if how == 0:
            lines.insert(at, rng.choice(lines))
        elif how == 1 and len(lines) > 1:
            del lines[at]
        elif how == 2:
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            mark = rng.choice([" ", ",", "=", ":", ";"])
            words = lines[at].split(mark)
            words[rng.randrange(len(words))] = str(rng.choice([*words, *map(str, SCALARS)]))
            lines[at] = mark.join(words)
    return "\n".join(lines).encode("utf-8", "surrogatepass")
