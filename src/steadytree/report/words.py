"""Names, conditions and numbers as the report writes them: plain text, never markup."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

from steadytree.core.space import FeatureSpace
from steadytree.core.words import Condition, format_number

__all__ = [
    "clean",
    "condition_words",
    "isolate",
    "listed",
    "percent",
    "rule_words",
    "signed",
    "significant",
]

# Characters that reorder the text around them: a name must not rearrange a sentence.
_STEERING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
_RIGHT_TO_LEFT = ("R", "AL", "AN")
MINUS = "\u2212"
THIN = "\u202f"


def clean(value: Any) -> str:
    """Name as one line of harmless text: no control characters, no direction overrides."""
    out = []
    for character in str(value):
        if ord(character) in _STEERING:
            continue
        kind = unicodedata.category(character)
        if character.isspace():
            out.append(" ")
        elif kind in ("Cc", "Cs", "Cn"):
            out.append("\ufffd")
        else:
            out.append(character)
    return " ".join("".join(out).split()) or "(blank)"


def isolate(text: str) -> str:
    """Text that keeps its own direction inside a sentence that runs from left to right."""
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"\u2068{text}\u2069"
    return text


def name_words(value: Any) -> str:
    """Clean and isolate a name."""
    return isolate(clean(value))


def listed(items: list[str], last: str = "or") -> str:
    """Write "a, b or c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def condition_words(condition: Condition, categories: tuple[Any, ...] | None = None) -> str:
    """Condition in words: "30 < age ≤ 50", "colour is red or blue".

    With all the ``categories`` of the feature, long lists become "is anything but green".
    """
    name = name_words(condition.name)
    if not condition.present:
        return f"{name} is missing"
    everything = condition.unrestricted or (
        condition.missing is False
        and (
            len(condition.allowed) == condition.n_categories
            if condition.allowed is not None
            else math.isinf(condition.lower) and math.isinf(condition.upper)
        )
    )
    if everything:
        return f"{name} is not missing" if condition.missing is False else f"any {name}"
    if condition.allowed is not None:
        others = [c for c in categories or () if c not in set(condition.allowed)]
        if others and len(condition.allowed) > len(others) + 1:
            text = f"{name} is anything but {listed([name_words(c) for c in others])}"
            return f"{text}, or missing" if condition.missing else text
        words = [name_words(c) for c in condition.allowed]
        return f"{name} is {listed([*words, 'missing'] if condition.missing else words)}"
    if math.isinf(condition.lower):
        text = f"{name} ≤ {number(condition.upper)}"
    elif math.isinf(condition.upper):
        text = f"{name} > {number(condition.lower)}"
    else:
        text = f"{number(condition.lower)} < {name} ≤ {number(condition.upper)}"
    return f"{text} or missing" if condition.missing else text


def rule_words(conditions: tuple[Condition, ...], space: FeatureSpace) -> list[str]:
    """Return the conditions of a rule in words, one entry each; "everyone" for none."""
    return [condition_words(c, space.categories[c.feature]) for c in conditions] or ["everyone"]


def number(value: float) -> str:
    """Six significant digits with a true minus sign."""
    return format_number(float(value)).replace("-", MINUS)


def significant(value: float | None, digits: int = 3) -> str:
    """Few significant digits; a dash where there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    return format_number(float(f"{value:.{digits}g}")).replace("-", MINUS)


def fixed(value: float | None, digits: int = 3) -> str:
    """Write a fixed number of decimals; a dash where there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:.{digits}f}".replace("-", MINUS)


def signed(value: float | None, digits: int = 3) -> str:
    """Write a fixed number of decimals with a sign; none before zero."""
    if value is None or not math.isfinite(value):
        return "–"
    if round(value, digits) == 0:
        return f"{0:.{digits}f}"
    return f"{value:+.{digits}f}".replace("-", MINUS)


def percent(share: float | None, digits: int | None = None) -> str:
    """Share in per cent: one decimal below ten per cent, none above, unless told."""
    if share is None or not math.isfinite(share):
        return "–"
    if digits == 0 and 0 < share < 0.0095:
        return f"<{THIN}1{THIN}%"
    places = digits if digits is not None else (1 if 0 < abs(share) < 0.0995 else 0)
    return f"{100 * share:.{places}f}".replace("-", MINUS) + THIN + "%"
