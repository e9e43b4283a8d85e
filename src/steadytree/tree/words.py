"""Names, numbers and conditions in words: the one place that puts them into text.

What is written for a terminal, for a page and into a figure differs in signs and phrases
only: a :class:`WordStyle` holds those, and everything else is decided once.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steadytree._text import one_line
from steadytree.tree.columns import codes_in
from steadytree.tree.space import FeatureSpace

# (lower, upper, present allowed, missing allowed): lower < x <= upper
NumericState = tuple[float, float, bool, bool]

# Invisible characters that reorder the text around them: a name must not rearrange a sentence.
_STEERING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C))
_RIGHT_TO_LEFT = ("R", "AL", "AN")
_NONE = "–"
# Shares are sums of weights: one of everybody may end a little below 1.
_ROUNDING = 1e-9


# -- names, lists and numbers ----------------------------------------------------------


def clean(value: Any) -> str:
    """Name as one line of harmless text: no control characters, no direction overrides."""
    out = []
    for character in str(value).translate(_STEERING):
        if character.isspace():
            out.append(" ")
        elif unicodedata.category(character) in ("Cc", "Cs", "Cn"):
            out.append("\ufffd")
        else:
            out.append(character)
    return " ".join("".join(out).split()) or "(blank)"


def isolate(text: str) -> str:
    """Text that keeps its own direction inside a sentence that runs from left to right."""
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"\u2068{text}\u2069"
    return text


def display_width(text: str) -> int:
    """Columns a text takes: wide characters (East Asian, emoji) count two, marks none."""
    return sum(
        0
        if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def shorten(text: str, columns: int) -> str:
    """Text cut to a number of columns, with an ellipsis where something is left out."""
    text = " ".join(str(text).translate(_STEERING).split())
    if display_width(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += display_width(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def listed(items: Iterable[Any], last: str = "or") -> str:
    """Write "a, b or c"."""
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def format_number(value: float) -> str:
    """Six significant digits, without a trailing exponent where it can be avoided."""
    if not np.isfinite(value):
        return str(value)
    text = f"{value:.6g}"
    return text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")


def shown_bound(value: float) -> tuple[float, bool]:
    """Return the number that a threshold is told by, and whether it lies just below that.

    The largest double (or single, which other libraries compare) below 110 reads 110, but 110
    itself is not at most that: it is told as "< 110".
    """
    with np.errstate(over="ignore"):
        for kind in (np.float64, np.float32):
            near = kind(value)
            above = np.nextafter(near, kind(np.inf))
            if float(near) != value or not np.isfinite(above):
                continue
            short = float(f"{above:.6g}") + 0.0  # no sign before zero
            if kind(short) == above and short in (0.0, float(f"{value:.6g}")):
                return short, True
    return value, False


def _reads_as(share: float, places: int) -> float:
    return float(f"{100 * share:.{places}f}")


def _is_end(share: float) -> bool:
    """Whether a share is none or all, but for the rounding of a sum."""
    return abs(share) < _ROUNDING or abs(share - 1) < _ROUNDING


def rounded_share(share: float, digits: int) -> float:
    """Share with few decimals, but never 0 or 1 unless it is."""
    if _is_end(share):
        return float(round(share))
    short = round(share, digits)
    return short if 0 < abs(short) < 1 else share


@dataclass(frozen=True, eq=False)
class WordStyle:
    """How words are written in one kind of place.

    ``phrases`` are what a condition says, by what it demands: "missing", "present", "any",
    "at_most", "over", "between", "is"; "up_to", "from" and "span" of categories in order; and
    "or_missing" to add that missing values pass, or categories never met; where given also
    "but" (all categories but few),
    "or_missing_after_but" and "nobody" (a side that no value takes). Places in braces: name,
    lower, upper, values, first, last, text, odd ("missing"), and the signs until ("<", or
    "no_more" where the
    upper end belongs to it), after (the same of the lower end) and beyond (">", or "no_less").
    A style ``for_pages`` leaves out of names what does
    harm (others show it by its number), and writes no sign before zero.
    """

    phrases: Mapping[str, str]
    minus: str = "-"
    gap: str = " "  # between a number and its per cent sign
    for_pages: bool = False
    lists_missing: bool = False  # as one more category: "red, blue or missing"

    def name(self, value: Any) -> str:
        """Name of a feature, category or class."""
        return isolate(clean(value)) if self.for_pages else one_line(value)

    def number(self, value: float) -> str:
        """Write six significant digits."""
        return self._minus(format_number(float(value)))

    def significant(self, value: float | None, digits: int = 3) -> str:
        """Write few significant digits; a dash where there is no number."""
        if value is None or not math.isfinite(value):
            return _NONE
        return self.number(float(f"{value:.{digits}g}"))

    def fixed(self, value: float | None, digits: int = 3) -> str:
        """Write a fixed number of decimals; a dash where there is no number."""
        if value is None or not math.isfinite(value):
            return _NONE
        return self._minus(f"{value:.{digits}f}")

    def signed(self, value: float | None, digits: int = 3) -> str:
        """Write a fixed number of decimals with a sign."""
        if value is None or not math.isfinite(value):
            return _NONE
        if self.for_pages and round(value, digits) == 0:
            return f"{0:.{digits}f}"
        return self._minus(f"{value:+.{digits}f}")

    def percent(self, share: float | None, digits: int | None = None) -> str:
        """Share in per cent: one decimal below ten per cent, none above, unless told.

        What is not nothing never reads 0 %, what is not everything never 100 %: "< 0.1 %",
        "99.7 %", "> 99.9 %".
        """
        if share is None or not math.isfinite(share):
            return _NONE
        places = digits if digits is not None else (1 if 0 < abs(share) < 0.0995 else 0)
        if digits is None and _reads_as(share, places) == 100 and not _is_end(share):
            places = 1
        if 0 < share < 1 and not _is_end(share):
            sign = {0.0: "<", 100.0: ">"}.get(_reads_as(share, places))
            if sign:
                least = 10.0**-places if sign == "<" else 100 - 10.0**-places
                return f"{sign}{self.gap}{least:.{places}f}{self.gap}%"
        return self._minus(f"{100 * share:.{places}f}") + f"{self.gap}%"

    def _minus(self, text: str) -> str:
        return text.replace("-", self.minus)


def _phrases(named: str = "{name} ", at_most: str = "<=", **others: str) -> dict[str, str]:
    return {
        "missing": f"{named}is {{odd}}",
        "present": f"{named}is not missing",
        "any": "any {name}",
        "no_more": at_most,
        "no_less": {"<=": ">=", "≤": "≥"}[at_most],
        "at_most": f"{named}{{until}} {{upper}}",
        "over": f"{named}{{beyond}} {{lower}}",
        "between": "{lower} {after} {name} {until} {upper}",
        "is": f"{named}is {{values}}",
        "up_to": f"{named}up to {{last}}",
        "from": f"{named}from {{first}} up",
        "span": f"{named}from {{first}} to {{last}}",
        "or_missing": "{text} or {odd}",
        **others,
    }


PLAIN = WordStyle(_phrases(nobody="{name}: nobody comes this way"))
"""For terminals, logs and files: "age <= 50", "4.3 %"."""

_BUT = {"but": "{name} is anything but {values}", "or_missing_after_but": "{text}, or missing"}
PAGE = WordStyle(_phrases(at_most="≤", **_BUT), "\u2212", "\u202f", True, True)
"""For pages that people read: "age ≤ 50", a true minus sign, names that do no harm."""

PAGE_BRANCH = WordStyle(
    _phrases(
        "",
        "≤",
        but="is anything but {values}",
        or_missing_after_but=_BUT["or_missing_after_but"],
        any="has any value, or none",
        nobody="(nobody comes this way)",
    ),
    *(PAGE.minus, PAGE.gap, True, True),
)
"""For the branches of a tree on a page, beside the feature's name: "≤ 50"."""

FIGURE_BRANCH = WordStyle(
    _phrases(
        "",
        "≤",
        missing="{odd}",
        present="present",
        any="present or missing",
        nobody="nobody",
        **{"is": "{values}"},
    ),
    gap="\u202f",
    lists_missing=True,
)
"""For the branches of a tree in a figure, where room is short: "red or blue"."""


# -- conditions ------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """The values of one feature that reach a leaf.

    Numeric: ``lower < x <= upper`` (infinite where unbounded) if ``present``.
    Categorical: ``allowed`` holds the categories; ``run`` is "up_to", "from" or "span" where
    they are several in a row of an order. ``missing`` says whether a missing value reaches the
    leaf; None where the feature is never missing. ``unseen`` says the same of categories never
    met; None where none can come, or they count as missing.
    """

    feature: int
    name: str
    lower: float = -np.inf
    upper: float = np.inf
    present: bool = True
    allowed: tuple[Any, ...] | None = None
    n_categories: int = 0
    missing: bool | None = None
    run: str | None = None
    unseen: bool | None = field(default=None, compare=False)

    @classmethod
    def from_state(cls, space: FeatureSpace, feature: int, state: NumericState | int) -> Condition:
        """Condition for a walk's state: numeric bounds, or a bit set of categories."""
        name = space.feature_labels[feature]
        can_miss = bool(space.can_be_missing[feature])
        if isinstance(state, tuple):
            low, high, present, missing = state
            if not present:
                low, high = -np.inf, np.inf
            return cls(feature, name, low, high, present, missing=missing if can_miss else None)
        cats = space.categories[feature] or ()
        inside = codes_in(state, len(cats))
        passes = bool(state >> len(cats) & 1) if can_miss else None
        ordered = bool(space.ordered[feature])
        return cls.of_categories(feature, name, cats, inside, passes, ordered=ordered)

    @classmethod
    def of_categories(
        cls,
        feature: int,
        name: str,
        categories: Sequence[Any],
        inside: Iterable[int],
        missing: bool | None,
        *,
        ordered: bool = False,
        unseen: bool | None = None,
    ) -> Condition:
        """Condition that some categories pass, by their codes."""
        codes = set(inside)
        allowed = tuple(c for code, c in enumerate(categories) if code in codes)
        return cls(
            feature,
            name,
            present=bool(allowed),
            allowed=allowed,
            n_categories=len(categories),
            missing=missing,
            run=_run_of(codes, len(categories)) if ordered else None,
            unseen=unseen,
        )

    @property
    def unrestricted(self) -> bool:
        """Whether every value passes."""
        return self.missing is not False and self._every_present_value

    @property
    def _every_present_value(self) -> bool:
        if self.allowed is not None:
            every = len(self.allowed) == self.n_categories and self.unseen is not False
            return self.present and every
        return self.present and bool(np.isneginf(self.lower) and np.isposinf(self.upper))

    @property
    def needs_brackets(self) -> bool:
        """Whether the words hold an "or" of their own."""
        if self.unrestricted or self._every_present_value:
            return False
        several = self.run is None and self.allowed is not None and len(self.allowed) > 1
        odd = bool(self.missing) + bool(self.unseen)
        return odd > 1 if not self.present else bool(odd) or several

    def __str__(self) -> str:
        """Return the condition in words: ``30 < age <= 50``, ``colour is red or blue``."""
        return self.words(PLAIN)

    def words(self, style: WordStyle, categories: Sequence[Any] | None = None) -> str:
        """Return the condition in words.

        With all the ``categories`` of the feature, and in a style that has the phrase, long
        lists become "is anything but green".
        """
        say = style.phrases
        name = style.name(self.name)
        passing = (("missing", self.missing), ("never met", self.unseen))
        odd = [word for word, passes in passing if passes]
        if not self.present:
            if "nobody" in say and not odd:
                return say["nobody"].format(name=name)
            alone = "a category never met" if odd == ["never met"] else " or ".join(odd)
            return say["missing"].format(name=name, odd=alone or "missing")
        if self._every_present_value:
            return say["present" if self.missing is False else "any"].format(name=name)
        if self.allowed is None:
            (low, from_low), (high, below_high) = map(shown_bound, (self.lower, self.upper))
            kind = "at_most" if np.isneginf(self.lower) else "over"
            if kind == "over" and not np.isposinf(self.upper):
                kind = "between"
            text = say[kind].format(
                name=name,
                lower=style.number(low),
                upper=style.number(high),
                until="<" if below_high else say["no_more"],
                after=say["no_more"] if from_low else "<",
                beyond=say["no_less"] if from_low else ">",
            )
        elif self.run is not None:
            first, last = (style.name(self.allowed[end]) for end in (0, -1))
            text = say[self.run].format(name=name, first=first, last=last)
        else:
            inside = set(self.allowed)
            others = [style.name(c) for c in categories or () if c not in inside]
            # Anything but green may be a category never met.
            whole = self.unseen is not False
            if "but" in say and others and len(inside) > len(others) + 1 and whole:
                text = say["but"].format(name=name, values=listed(others))
                return say["or_missing_after_but"].format(text=text) if self.missing else text
            shown = [style.name(c) for c in self.allowed]
            if style.lists_missing:
                return say["is"].format(name=name, values=listed([*shown, *odd]))
            text = say["is"].format(name=name, values=listed(shown))
        return say["or_missing"].format(text=text, odd=" or ".join(odd)) if odd else text


def _run_of(codes: Collection[int], count: int) -> str | None:
    """Say where several codes in a row lie in an order: up_to, from or span; None for others."""
    if not 1 < len(codes) < count or max(codes) - min(codes) >= len(codes):
        return None
    return "up_to" if min(codes) == 0 else "from" if max(codes) == count - 1 else "span"


def join_conditions(conditions: Sequence[Condition]) -> str:
    """Join conditions with "and"; one that says "or" is bracketed, so that neither is misread."""
    several = len(conditions) > 1
    words = (f"({c})" if several and c.needs_brackets else str(c) for c in conditions)
    return " and ".join(words) or "always"
