"""What a new tree may change: one object that is written down before anybody sees the tree.

"At most 3 % of the decisions, in every group at most 5 %, nothing about race, the first condition
stays, and the score must not fall": a :class:`ChangePlan` says it once, for the search that
proposes within it, for the comparison that checks it, and for the file that a build reads.
How each clause is judged is in :mod:`steadytree.evaluation.plan_check`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

from steadytree._io import read_bytes
from steadytree._text import cut, quoted
from steadytree.exceptions import InputError
from steadytree.tree.words import PLAIN

SCHEMA, VERSION = "steadytree-plan", 1
MAX_BYTES = 2**20
"""A plan is a page of text."""
_SHOWN = 80
_LARGEST = 1e9
"""Beyond any limit; NaN is not below it either."""


@dataclass(frozen=True)
class Limit:
    """One number that a plan can limit: what it measures, and which limits make sense.

    ``upper``: the measure may not exceed the limit; else it must reach it.
    """

    measure: str
    upper: bool
    words: str
    show: Callable[[float], str]
    valid: Callable[[float], bool]
    expected: str


_SHARE = (lambda v: PLAIN.percent(v, 1), lambda v: 0 <= v <= 1, "a share from 0 to 1")
_COUNT = (lambda v: f"{v:.0f}", lambda v: v >= 1 and v == int(v), "a whole number from 1")

LIMITS: Mapping[str, Limit] = {
    "max_flips": Limit("flips", True, "rows with another decision", *_SHARE),
    "max_moved_5": Limit("moved_5", True, "rows whose risk moves over 5 points", *_SHARE),
    "max_moved_10": Limit("moved_10", True, "rows whose risk moves over 10 points", *_SHARE),
    "max_dissimilarity": Limit("dissimilarity", True, "dissimilarity", *_SHARE),
    "min_gain": Limit(
        "score_change",
        False,
        "gain in the score",
        PLAIN.signed,
        lambda v: v > 0,
        "a number above 0",
    ),
    "min_score_change": Limit(
        "score_change", False, "change of the score", PLAIN.signed, lambda v: True, "a number"
    ),
    "max_leaves": Limit("n_leaves", True, "leaves", *_COUNT),
}
"""The limits by name."""

PER_GROUP = ("max_flips", "max_moved_5", "max_moved_10", "min_score_change")
"""Limits that can be set for every group of a column: those that are counted on rows."""

_LISTS = ("locked", "forbid", "accept")


@dataclass(frozen=True, kw_only=True)
class ChangePlan:
    """What a new tree may change, and what it must hold.

    :func:`steadytree.retrain` proposes within it or keeps the deployed tree,
    :func:`steadytree.compare` holds any two trees against it. Wherever a plan is taken, a dict
    or the path of a TOML file will do, or a list of these, joined.

    Attributes
    ----------
    locked : "root", node number, feature name, condition or rule text, or several
        What may not change. Locking a leaf locks its whole rule and its label; its share is
        still re-estimated.
    forbid : name or names of features, optional
        What no rule may be about; nothing is learnt from these either. By default what the
        deployed tree was made without; an empty list allows everything.
    max_flips, max_moved_5, max_moved_10 : float, optional
        Largest share of rows whose decision changes, and whose risk moves by more than 5 or 10
        points (in regression by that share of the response range). Held if the upper end of
        the 95 % interval is within the limit, so few rows hold no small limit; below 100 rows
        it cannot be judged.
    max_dissimilarity : float, optional
        Largest dissimilarity to the deployed tree, from 0 to 1.
    min_gain : float, optional
        Least estimated gain in score (AUC or R²), above 0: what a change must bring.
    min_score_change : float, optional
        Least change of the score, new minus old; -0.01 allows to lose a point. Held if the
        lower end of the 95 % interval reaches it. Neither limit on a score can be judged below
        20 events, or where both trees predict worse than chance.
    max_leaves : int, optional
        Largest number of leaves of the new tree.
    per_group : mapping of column to limits
        ``{"sex": {"max_flips": 0.05}}``: limits that must hold in every group of a column
        (``max_flips``, ``max_moved_5``, ``max_moved_10``, ``min_score_change``).
    accept : name or names of columns
        Columns of the rows that are not what the trees were made for, and right so: clauses
        can be judged all the same.

    Examples
    --------
    >>> import steadytree as st
    >>> plan = st.ChangePlan(max_flips=0.03, locked="root")
    >>> plan.words()
    "locked=['root'], max_flips=0.03"
    >>> st.ChangePlan.read([plan, {"max_leaves": 8}]).max_leaves
    8
    """

    locked: Any = ()
    forbid: Any = None
    max_flips: float | None = None
    max_moved_5: float | None = None
    max_moved_10: float | None = None
    max_dissimilarity: float | None = None
    min_gain: float | None = None
    min_score_change: float | None = None
    max_leaves: int | None = None
    per_group: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    accept: Any = ()

    def __post_init__(self) -> None:
        for name in _LISTS:
            value = getattr(self, name)
            if value is not None or name != "forbid":
                object.__setattr__(self, name, _names(value, name, numbers=name != "accept"))
        for name in LIMITS:
            if getattr(self, name) is not None:
                _check_limit(getattr(self, name), name, name)
        object.__setattr__(self, "per_group", _per_group(self.per_group))

    # -- what it asks ---------------------------------------------------------------

    def limits(self) -> Iterator[tuple[str, str | None, float]]:
        """Go through the limits that are set: name, column of the groups or None, and limit.

        Returns
        -------
        iterator of tuple
        """
        for name in LIMITS:
            if getattr(self, name) is not None:
                yield name, None, float(getattr(self, name))
        for column, limits in self.per_group.items():
            for name, limit in limits.items():
                yield name, column, float(limit)

    def words(self) -> str:
        """Return what is set, as it is typed.

        Returns
        -------
        str
        """
        set_ = {k: v for k, v in self.to_dict().items() if k not in ("schema", "version")}
        return ", ".join(f"{name}={value!r}" for name, value in set_.items())

    def __bool__(self) -> bool:
        return self != ChangePlan()

    # -- written and read --------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return what is set as plain values, with schema and version: a plan file's content.

        Returns
        -------
        dict
        """
        out: dict[str, Any] = {"schema": SCHEMA, "version": VERSION}
        for one in fields(self):
            value = getattr(self, one.name)
            # An empty list of what is forbidden allows everything.
            if value is None or (one.name != "forbid" and value in ((), {})):
                continue
            out[one.name] = list(value) if isinstance(value, tuple) else deepcopy(value)
        return out

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a plan from a TOML file.

        Parameters
        ----------
        path : path-like
            With ``schema = "steadytree-plan"`` and ``version = 1``; the other entries are the
            attributes above.

        Returns
        -------
        ChangePlan
        """
        content = read_bytes(path, MAX_BYTES, what="plan file")
        try:
            found = tomllib.loads(content.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:  # also bytes that are no UTF-8
            raise InputError(
                f"{path}: expected TOML in UTF-8, got {cut(str(error), _SHOWN)}; "
                "a line is for example max_flips = 0.03"
            ) from None
        try:
            return cls._of_entries(found, whole=True)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def read(cls, given: Any) -> ChangePlan:
        """Return a plan from whatever stands for one.

        Parameters
        ----------
        given : ChangePlan, dict, path of a TOML file, None, or a list of these
            Several are joined: lists are put together, of other settings the last one holds.

        Returns
        -------
        ChangePlan
        """
        if given is None:
            return cls()
        if isinstance(given, ChangePlan):
            return given
        if isinstance(given, Mapping):
            return cls._of_entries(given, whole=False)
        if isinstance(given, (str, os.PathLike)):
            return cls.from_file(Path(given))
        if isinstance(given, (list, tuple)):
            joined: dict[str, Any] = {}
            for plan in map(cls.read, given):
                entries = plan.to_dict()
                for name in {*_LISTS, "per_group"} & entries.keys() & joined.keys():
                    entries[name] = _put_together(joined[name], entries[name])
                joined |= entries
            return cls._of_entries(joined, whole=False)
        raise InputError(
            "expected a ChangePlan, a dict, the path of a TOML file or a list of these as plan, "
            f"got {type(given).__name__}; write for example plan={{'max_flips': 0.03}}"
        )

    @classmethod
    def _of_entries(cls, entries: Mapping[Any, Any], *, whole: bool) -> Self:
        """Make a plan of named entries; a ``whole`` one says which schema it follows."""
        for name, known in (("schema", SCHEMA), ("version", VERSION)):
            value = entries.get(name, None if whole else known)
            if type(value) is not type(known) or value != known:
                raise InputError(
                    f"expected {name} = {known!r} in a plan, got {quoted(value)}; "
                    f'begin it with schema = "{SCHEMA}" and version = {VERSION}'
                )
        names = [one.name for one in fields(cls)]
        unknown = [name for name in entries if name not in (*names, "schema", "version")]
        if unknown:
            raise InputError(
                f"expected entries of a plan among {', '.join(names)}, got "
                f"{', '.join(quoted(name) for name in unknown)}; correct the name or leave it out"
            )
        return cls(**{name: entries[name] for name in names if name in entries})


def plan_setting(text: str) -> dict[str, Any]:
    """Read one entry of a plan as the command line takes it.

    Parameters
    ----------
    text : str
        ``max_flips=0.03``, ``locked=root``, ``per_group.sex.max_flips=0.05``; ``forbid=``
        with nothing behind it allows everything.

    Returns
    -------
    dict
        For :meth:`ChangePlan.read`.

    Examples
    --------
    >>> from steadytree.evaluation.plan import plan_setting
    >>> plan_setting("per_group.sex.max_flips=0.05")
    {'per_group': {'sex': {'max_flips': 0.05}}}
    """
    name, equals, value = text.partition("=")
    place, _, column_and_limit = name.partition(".")
    column, _, limit = column_and_limit.rpartition(".")
    if equals and name in _LISTS:
        return {name: [] if name == "forbid" and not value else [value]}
    if equals and name in LIMITS:
        return {name: _number(text, name, value)}
    if equals and place == "per_group" and column and limit in PER_GROUP:
        return {"per_group": {column: {limit: _number(text, limit, value)}}}
    raise InputError(
        f"expected a plan file, or SETTING=VALUE with a setting of {', '.join((*LIMITS, *_LISTS))} "
        f"or per_group.COLUMN.LIMIT, got {quoted(text)}; write for example max_flips=0.03"
    )


def _number(text: str, name: str, value: str) -> float | int:
    try:
        number = float(value)
    except ValueError:
        raise InputError(
            f"expected {LIMITS[name].expected} as {name}, got {quoted(text)}; "
            "write for example max_flips=0.03"
        ) from None
    _check_limit(number, name, name)
    return int(number) if name == "max_leaves" else number


# -- what an entry may be --------------------------------------------------------------


def _names(value: Any, name: str, *, numbers: bool) -> tuple[Any, ...]:
    """Return one name or several as a tuple; nodes and features may also be numbers."""

    def known(item: Any) -> bool:
        number = numbers and isinstance(item, Integral) and not isinstance(item, bool)
        return number or (isinstance(item, str) and bool(item))

    several = isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    items = tuple(value) if several else (value,)
    wrong = [item for item in items if not known(item)]
    if wrong:
        kind = "texts or whole numbers" if numbers else "texts"
        raise InputError(
            f"expected {kind} as {name}, got {quoted(wrong[0])}; write {name} = "
            f'["{"root" if name == "locked" else "a column"}"]'
        )
    # The same twice is the same once.
    return tuple(dict.fromkeys(int(i) if isinstance(i, Integral) else i for i in items))


def _check_limit(value: Any, name: str, where: str) -> None:
    limit = LIMITS[name]
    number = isinstance(value, Real) and not isinstance(value, bool)
    if number and abs(value) < _LARGEST and limit.valid(float(value)):
        return
    fix = (
        "0.03 is 3 %" if limit.expected.startswith("a share") else f"leave {name} out for no limit"
    )
    raise InputError(f"expected {limit.expected} as {where}, got {quoted(value)}; {fix}")


def _per_group(value: Any) -> dict[str, dict[str, float]]:
    fix = 'write per_group = {"sex": {"max_flips": 0.05}}'
    if not isinstance(value, Mapping):
        raise InputError(f"expected limits by column as per_group, got {quoted(value)}; {fix}")
    out: dict[str, dict[str, float]] = {}
    for column, limits in value.items():
        if not isinstance(column, str) or not isinstance(limits, Mapping) or not limits:
            got = f"{quoted(column)}: {quoted(limits)}"
            raise InputError(f"expected limits by column as per_group, got {got}; {fix}")
        for name, limit in limits.items():
            if name not in PER_GROUP:
                raise InputError(
                    f"expected limits among {', '.join(PER_GROUP)} in per_group, got "
                    f"{quoted(name)} for {column!r}; {fix}"
                )
            _check_limit(limit, name, f"per_group.{column}.{name}")
        out[column] = dict(limits)
    return out


def _put_together(first: Any, second: Any) -> Any:
    """Join two lists, or the limits of two mappings of columns."""
    if isinstance(first, list):
        return [*first, *second]
    return {
        column: {**first.get(column, {}), **second.get(column, {})}
        for column in dict.fromkeys([*first, *second])
    }
