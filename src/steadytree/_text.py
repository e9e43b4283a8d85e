"""Foreign values inside our messages: quoted, harmless and short.

A message that quotes a name of 50 megabytes, or 100,000 columns, says nothing and fills the log.
Whatever an error shows of what it was given goes through here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from itertools import islice
from typing import Any

# -- Text out of files made harmless for where it goes: a terminal, a log, a spreadsheet --
# A column may be called ``\x1b[2J`` (a terminal clears its screen), end in a line that a build
# server takes for its own (``::error::``), or hold ``=HYPERLINK(...)``, which a spreadsheet runs.
# Such text is shown as what it is, never acted upon.

# Control characters but tab and line break, whatever is invisible or turns the direction of the
# text around it, line ends of other systems, and halves of characters. The joiners of emoji and
# of Persian words stay.
_ACTING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u070f\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u2067\u206a-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_ISOLATES = "\u2068\u2069"
_TERMINAL = re.compile(f"[{_ACTING}]")
_JSON = re.compile(f"[{_ACTING}{_ISOLATES}]|(?<=#)#")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
# Lines that GitHub, Azure and TeamCity take for commands.
_COMMAND = re.compile(r"^(?P<before>[ \t]*)(?P<sign>:)(?=:)|(?<=#)#(?=\[|vso\[|teamcity\[)", re.M)

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet may run; wide signs count where they are usual."""
QUOTE = "'"


def harmless(text: str) -> str:
    r"""Return text for a terminal or a log: characters that act are shown by their numbers.

    Line breaks stay, since most are ours: names are put on one line where they enter a sentence
    (:func:`one_line`), and no line reads as a command of a build server.

    Examples
    --------
    >>> print(harmless("age \x1b[2J"))
    age \x1b[2J
    >>> print(harmless("::error::"))
    \x3a:error::
    """
    shown = _COMMAND.sub(_shown_sign, _TERMINAL.sub(_shown, text))
    if any(sign in shown for sign in _ISOLATES):
        shown = "\n".join(map(_isolated, shown.split("\n")))
    return shown


def one_line(value: Any) -> str:
    """Return a name as one harmless line; what breaks lines is shown by its number as well."""
    return harmless(str(value)).replace("\n", "\\n")


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _shown_sign(found: re.Match[str]) -> str:
    return f"{found['before'] or ''}\\x{ord(found[0][-1]):02x}"


def _isolated(line: str) -> str:
    """Keep the marks around words that run from right to left, if each is closed again."""
    depth = 0
    for character in line:
        depth += (character == _ISOLATES[0]) - (character == _ISOLATES[1])
        if depth < 0:
            break
    return line if depth == 0 else re.sub(f"[{_ISOLATES}]", _shown, line)


def harmless_json(content: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    """Return JSON that holds the true text, with every character escaped that could act."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=indent)
    text = _JSON.sub(_escaped, text)
    return _NOT_ASCII.sub(_escaped, text) if ascii_only else text


def _escaped(found: re.Match[str]) -> str:
    return "\\u0023" if found[0] == "#" else json.dumps(found[0])[1:-1]


def harmless_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet runs; numbers and most text stay as they are.

    Text that begins like a formula (``= + - @``, a tab, a line end), or with the quote itself, gets
    a quote (``'``) before it, as one types it by hand. :func:`original_cell` takes it away.
    """
    if isinstance(value, str) and value.startswith((*FORMULA, QUOTE)):
        return QUOTE + value
    return value


def harmless_words(text: str) -> str:
    """Return words for a cell of a Markdown table, from which people copy into spreadsheets.

    As :func:`harmless_cell`, but a rule may begin with a number below zero: "-5 < x <= 3".
    """
    return text if re.match(r"-[\d.]", text) else str(harmless_cell(text))


def original_cell(value: Any) -> Any:
    """Return what was in a cell before :func:`harmless_cell`."""
    return value[1:] if isinstance(value, str) and value.startswith(QUOTE) else value


def repeated(values: Iterable[Any]) -> list[Any]:
    """Return what occurs more than once, in order of meeting."""
    return [value for value, times in Counter(values).items() if times > 1]


# -- Foreign values inside our messages: quoted, harmless and short --

MOST_CHARACTERS = 80
"""Of one value."""
MOST_ITEMS = 8
"""Of a list."""
_DIGITS_PER_BIT = 0.30103


def quoted(value: Any) -> str:
    """Return a value as a message shows it: as Python writes it, cut where it is long."""
    if isinstance(value, str):
        # The longest text that is quoted whole; control characters come out escaped.
        if len(value) <= MOST_CHARACTERS:
            return repr(value)
        return f"{value[:MOST_CHARACTERS]!r}... ({len(value):,} characters)"
    if isinstance(value, int) and value.bit_length() > MOST_CHARACTERS * 3:
        return f"a whole number of about {int(value.bit_length() * _DIGITS_PER_BIT) + 1:,} digits"
    if isinstance(value, (bytes, bytearray)) and len(value) > MOST_CHARACTERS:
        return f"{bytes(value[:MOST_CHARACTERS])!r}... ({len(value):,} bytes)"
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} of {len(value):,} entries"
    if isinstance(value, (list, tuple, Set)):
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ")")
        return f"{opening}{some_of(value)}{closing}"
    try:
        text = repr(value)
    except Exception:  # whatever a stranger's class does, the message must be said
        return f"a {type(value).__name__}"
    return cut(text, 4 * MOST_CHARACTERS)


def some_of(items: Collection[Any], most: int = MOST_ITEMS) -> str:
    """Return the first few of a list, quoted, and how many more there are."""
    shown = ", ".join(map(_item, islice(items, most)))
    more = len(items) - most
    return f"{shown} and {more:,} more" if more > 0 else shown


def _item(value: Any) -> str:
    """Quote one of a list; a list inside is only counted, so that nesting costs nothing."""
    if isinstance(value, (list, tuple, Set)) and len(value) > 0:
        return f"a {type(value).__name__} of {len(value):,} entries"
    return quoted(value)


def cut(text: str, most: int) -> str:
    """Cut a text that is not ours, such as another library's message."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
