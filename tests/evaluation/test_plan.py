"""A plan as it is written, read from a file or a text, and joined with others."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import steadytree as st
from steadytree.evaluation.plan import LIMITS, PER_GROUP, plan_setting
from steadytree.exceptions import InputError

HEAD = 'schema = "steadytree-plan"\nversion = 1\n'
FULL = """
locked = ["root", "age <= 50"]
forbid = ["race"]
accept = ["income"]
max_flips = 0.03
max_dissimilarity = 0.1
max_leaves = 8
min_score_change = -0.01

[per_group.sex]
max_flips = 0.05

[per_group."age group"]
min_score_change = -0.02
"""
PLAN = st.ChangePlan(
    locked=["root", "age <= 50"],
    forbid="race",
    accept="income",
    max_flips=0.03,
    max_dissimilarity=0.1,
    max_leaves=8,
    min_score_change=-0.01,
    per_group={"sex": {"max_flips": 0.05}, "age group": {"min_score_change": -0.02}},
)


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "plan.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_every_form_of_a_plan_reads_as_the_same_plan(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + FULL)
    for form in (path, str(path), PLAN.to_dict(), PLAN, [path], [PLAN, path], [path, None, {}]):
        assert st.ChangePlan.read(form) == PLAN
    assert st.ChangePlan.from_file(path) == PLAN
    assert pickle.loads(pickle.dumps(PLAN)) == PLAN
    assert st.ChangePlan.read(None) == st.ChangePlan()
    assert not st.ChangePlan()
    assert st.ChangePlan(forbid=[])
    limits = [("max_flips", None, 0.03), ("max_dissimilarity", None, 0.1)]
    limits += [("min_score_change", None, -0.01), ("max_leaves", None, 8.0)]
    limits += [("max_flips", "sex", 0.05), ("min_score_change", "age group", -0.02)]
    assert list(PLAN.limits()) == limits


def test_plans_are_joined_and_the_last_one_holds() -> None:
    joined = st.ChangePlan.read(
        [
            {"locked": "root", "max_flips": 0.03, "per_group": {"sex": {"max_flips": 0.05}}},
            {"locked": ["age", "root"], "max_flips": 0.03, "max_leaves": 8},
            {"per_group": {"sex": {"max_moved_5": 0.2}, "ward": {"max_flips": 0.1}}},
        ]
    )
    assert joined.locked == ("root", "age")
    assert (joined.max_flips, joined.max_leaves) == (0.03, 8)
    sex = {"max_flips": 0.05, "max_moved_5": 0.2}
    assert joined.per_group == {"sex": sex, "ward": {"max_flips": 0.1}}
    assert st.ChangePlan.read([{"max_flips": 0.03}, {"max_flips": 0.05}]).max_flips == 0.05
    one, two = ({"per_group": {"sex": {"max_flips": limit}}} for limit in (0.1, 0.2))
    assert st.ChangePlan.read([one, two]) == st.ChangePlan.read(two)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("max_flips=0.03", {"max_flips": 0.03}),
        ("max_leaves=8", {"max_leaves": 8}),
        ("min_score_change=-0.01", {"min_score_change": -0.01}),
        ("locked=root", {"locked": ["root"]}),
        ("locked=age <= 50", {"locked": ["age <= 50"]}),
        ("forbid=race", {"forbid": ["race"]}),
        ("forbid=", {"forbid": []}),
        ("accept=a=b", {"accept": ["a=b"]}),
        ("per_group.sex.max_flips=0.05", {"per_group": {"sex": {"max_flips": 0.05}}}),
        ("per_group.a.b.max_flips=0.05", {"per_group": {"a.b": {"max_flips": 0.05}}}),
    ],
)
def test_one_setting_as_a_text(text: str, entries: dict[str, Any]) -> None:
    assert plan_setting(text) == entries
    assert st.ChangePlan.read(entries)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "max_flips",
            "max_flips=",
            "max_flips=x",
            "max_flips=nan",
            "max_flips=2",
            "max_flips=3 %",
        ),
        *("max_leaves=1.5", "min_gain=0", "min_score_change=inf", "flips=0.1", "=", "", "--plan"),
        *("per_group.sex=0.1", "per_group.sex.max_leaves=3", "per_group..max_flips=0.1"),
        *("per_group={}", "schema=x", "max_flips=0.1=0.2"),
    ],
)
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"expected .* got .*; "):
        plan_setting(text)


HOSTILE: dict[str, str | bytes] = {
    "empty": "",
    "no version": 'schema = "steadytree-plan"\nmax_flips = 0.1',
    "another schema": 'schema = "steadytree-tree"\nversion = 1',
    "a newer version": 'schema = "steadytree-plan"\nversion = 2',
    "a version that is a fraction": 'schema = "steadytree-plan"\nversion = 1.0',
    "a version that is a truth": 'schema = "steadytree-plan"\nversion = true',
    "an unknown key": HEAD + "max_flip = 0.1",
    "a table for a number": HEAD + "[max_flips]\nsex = 0.1",
    "text for a number": HEAD + 'max_flips = "0.1"',
    "a truth for a number": HEAD + "max_flips = true",
    "not a number": HEAD + "max_flips = nan",
    "infinity": HEAD + "min_score_change = -inf",
    "a number of 5,000 digits": HEAD + f"max_leaves = {'9' * 5000}",
    "a number of 400 digits": HEAD + f"max_leaves = {'9' * 400}",
    "a share above 1": HEAD + "max_flips = 3",
    "half a leaf": HEAD + "max_leaves = 2.5",
    "no gain": HEAD + "min_gain = 0.0",
    "a date": HEAD + "max_flips = 2024-05-31",
    "a key twice": HEAD + "max_flips = 0.1\nmax_flips = 0.2",
    "numbers to forbid and truths": HEAD + "forbid = [true]",
    "a list of lists": HEAD + 'locked = [["root"]]',
    "an empty name": HEAD + 'accept = [""]',
    "numbers to accept": HEAD + "accept = [3]",
    "groups without limits": HEAD + "[per_group.sex]",
    "a limit that is of no group": HEAD + "[per_group.sex]\nmax_leaves = 3",
    "groups that are a list": HEAD + 'per_group = ["sex"]',
    "cut off": HEAD + "locked = [",
    "lists in lists": HEAD + "locked = " + "[" * 5000 + "]" * 5000,
    "JSON": '{"schema": "steadytree-plan", "version": 1}',
    "other bytes": HEAD.encode() + b"\xff\xfe",
    "zero bytes": b"\x00" * 64,
    "too large": HEAD + "# " + "x" * 2**20,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_plan_is_refused_in_few_words(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, HOSTILE[name])
    with pytest.raises(InputError, match=r"expected ") as caught:
        st.ChangePlan.from_file(path)
    words = str(caught.value).replace(str(tmp_path), "")
    assert "plan.toml" in words
    assert ", got " in words
    assert len(words) < 600


def test_a_plan_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "lost.toml", tmp_path):
        with pytest.raises(InputError, match=r"expected a readable plan file, got "):
            st.ChangePlan.read(path)
    with pytest.raises(InputError, match=r"a dict, the path of a TOML file .* got int; write"):
        st.ChangePlan.read(3)


@pytest.mark.parametrize("name", LIMITS)
def test_limits_that_make_no_sense(name: str) -> None:
    for limit in ("0.1", True, float("nan"), float("inf"), 10**400, [0.1], 1j):
        with pytest.raises(InputError, match=rf"expected .* as {name}, got .*; "):
            st.ChangePlan(**{name: limit})  # type: ignore[arg-type]
    if name in PER_GROUP:
        with pytest.raises(InputError, match=rf"as per_group\.sex\.{name}, got "):
            st.ChangePlan(per_group={"sex": {name: "x"}})  # type: ignore[dict-item]
