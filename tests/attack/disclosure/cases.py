"""Real tables, a tree in force on the older rows, and what a retraining on the newer publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steadytree import Tree, load_tree
from tests.attack.disclosure.attack import Attack, Truth
from tests.attack.disclosure.publish import Published, publish, run
from tests.audit.sets import SETS

__all__ = ["CASES", "OUTCOME", "Case", "Report", "make_report", "proposal"]

OUTCOME = "the outcome"


@dataclass(frozen=True)
class Case:
    """A table of :data:`tests.audit.sets.SETS`, and the commands that are run on it.

    Attributes
    ----------
    rows : int
        So many rows are taken, in random order, the first ``share_old`` of them as old ones.
    subgroups : tuple of str
        Columns to report by; those in ``only_groups`` are no predictors.
    fit, retrain : tuple of str
        Further options of the two commands.
    old_rows : bool
        Whether the retraining is given the old rows.
    with_names : bool
        Whether the table also has a name per person, and wards, some of them of few people.
    """

    set_name: str
    rows: int
    subgroups: tuple[str, ...] = ()
    only_groups: tuple[str, ...] = ()
    fit: tuple[str, ...] = ()
    retrain: tuple[str, ...] = ()
    old_rows: bool = True
    share_old: float = 0.5
    with_names: bool = False

    def table(self) -> pd.DataFrame:
        """Return features and outcome, shuffled."""
        X, y = SETS[self.set_name].load()
        order = np.random.default_rng(7).permutation(len(y))[: self.rows]
        table = X.iloc[order].reset_index(drop=True)
        if self.with_names:
            wards = np.random.default_rng(8).geometric(0.15, len(table))
            table.insert(0, "person", [f"Quentin-{i:04d} Zyx" for i in range(len(table))])
            table.insert(1, "ward", [f"Wardqx-{ward:02d}" for ward in wards])
        table[OUTCOME] = y.iloc[order].to_numpy()
        return table


CASES = {
    "icu": Case(
        "icu",
        200,
        subgroups=("AgeGroup", "Sex"),
        only_groups=("AgeGroup", "person"),
        with_names=True,
        fit=("--learner", "cart", "--max-leaves", "6"),
        retrain=("--plan", "max_flips=0.02"),
    ),
    "penguins": Case(
        "penguins",
        340,
        subgroups=("island", "sex"),
        only_groups=("island", "sex"),
        fit=("--max-leaves", "6"),
        retrain=("--plan", "max_dissimilarity=0.2"),
    ),
    "colon": Case(
        "colon",
        928,
        subgroups=("rx", "perfor", "extent"),
        only_groups=("perfor",),
        fit=("--learner", "cart", "--max-leaves", "8", "--decision-threshold", "prevalence"),
        retrain=("--plan", "max_flips=0.01", "--plan", "max_moved_5=0.3"),
    ),
    "credit": Case(
        "credit",
        1500,
        subgroups=("Marital", "Home"),
        only_groups=("Marital", "person"),
        with_names=True,
        fit=("--max-leaves", "8"),
        retrain=(
            "--plan",
            "locked=root",
            "--price",
            "0.1",
            "--plan",
            "min_score_change=0",
        ),
        share_old=0.6,
    ),
    "churn": Case(
        "churn",
        1600,
        subgroups=("area_code", "number_customer_service_calls"),
        only_groups=("area_code",),
        fit=("--max-leaves", "10"),
        retrain=("--price", "0.05"),
        old_rows=False,
        share_old=0.6,
    ),
    "nafld": Case(
        "nafld",
        3000,
        subgroups=("sex", "diabetes"),
        fit=("--max-leaves", "8", "--decision-threshold", "prevalence"),
        retrain=("--plan", "max_flips=0.05"),
    ),
    "births": Case(
        "births",
        1200,
        subgroups=("HispMom", "Plural"),
        only_groups=("RaceMom", "MomRace"),
        fit=("--max-leaves", "6"),
        retrain=(),
    ),
}
"""Two classes, three classes and a response; small groups, a locked root, gates, no old rows."""


@dataclass(frozen=True)
class Report:
    """What was published, and the truth behind it."""

    published: Published
    tables: Mapping[str, pd.DataFrame]
    deployed: Tree
    proposed: Tree
    case: Case
    folder: Path
    fitted: str
    arguments: tuple[object, ...]

    @property
    def most(self) -> int:
        """Upper bound of all counts."""
        return sum(map(len, self.tables.values()))

    def truth(self, groups: Mapping[str, Sequence[str]]) -> Truth:
        """Return the rows with their subgroups by the published names."""
        new = self.tables["new"]
        return Truth(
            {rows: self._as_named(table) for rows, table in self.tables.items()},
            {rows: table[OUTCOME].astype(str).tolist() for rows, table in self.tables.items()},
            {column: group_names(new[column], groups[column]) for column in groups},
            self.events,
        )

    def _as_named(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return rows with the categories' names of the page, where rare ones have others."""
        space, table = self.proposed.space, table.copy()
        assert space is not None
        listed = {f["name"]: f["categories"] for f in self.published.summary["features"]}
        for label, names in zip(space.feature_labels, space.categories, strict=True):
            if names and listed.get(label) and label in table:
                shown = dict(zip(map(str, names), listed[label], strict=True))
                table[label] = [v if pd.isna(v) else shown.get(str(v), v) for v in table[label]]
        return table

    @property
    def events(self) -> dict[str, np.ndarray[Any, Any]]:
        """Which new rows get another decision, and whose risk moves."""
        new = self.tables["new"]
        leaves = [tree.apply(new) for tree in (self.deployed, self.proposed)]
        trees = (self.deployed, self.proposed)
        old, now = (tree.value[leaf] for tree, leaf in zip(trees, leaves, strict=True))
        if self.deployed.is_classifier:
            move = np.abs(now - old).sum(axis=1) / 2
            labels = [
                np.asarray(tree.class_names(tree.label[leaf]))
                for tree, leaf in zip(trees, leaves, strict=True)
            ]
            flips = labels[0] != labels[1]
        else:
            space = self.deployed.space
            assert space is not None
            low, high = space.response_range or (0.0, 0.0)
            move = np.abs(now - old)[:, 0] / (high - low)
            flips = move > 0.05
        return {"flips": flips, "moved_5": move > 0.05 + 1e-9, "moved_10": move > 0.1 + 1e-9}

    def attack(self, *more: Published, **options: Any) -> Attack:
        """Let the adversary read it, and more that was published of the same rows."""
        plain = "cart" in self.case.fit
        return Attack(self.published, *more, most=self.most, old_is_plain=plain, **options)


def group_names(values: pd.Series[Any], published: Sequence[str]) -> list[str]:
    """Name of each row's subgroup as published; those that were pooled have one name left."""
    names = ["(missing)" if pd.isna(v) else _short(v) for v in values]
    unknown = sorted(set(names) - set(published))
    left = sorted(name for name in published if name not in set(names))
    assert len(unknown) == len(left), f"expected subgroups {published}, got {unknown}"
    # Small groups are numbered in the order of their names.
    small = dict(zip(unknown, left, strict=True))
    return [small.get(name, name) for name in names]


def _short(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def proposal(folder: Path) -> Path:
    """File of the proposed tree, whether or not a gate refused it."""
    path = folder / "tree.json"
    return path if path.exists() else folder / "refused-tree.json"


def make_report(case: Case, folder: Path, *more: str) -> Report:
    """Fit, retrain and gather, through the real command line."""
    table = case.table()
    n = int(case.share_old * len(table))
    files = {"old": folder / "old.csv", "new": folder / "new.csv"}
    tables = {"old": table[:n], "new": table[n:]}
    for name, path in files.items():
        if not path.exists():
            tables[name].to_csv(path, index=False)
    # As the command line reads them.
    tables = {name: pd.read_csv(path) for name, path in files.items()}
    model = folder / "model"
    drop = [o for column in case.only_groups for o in ("--drop", column)]
    fit = ["fit", files["old"], "--target", OUTCOME, "-q", *drop, *case.fit, "--out", model]
    fitted = run(fit)[0]
    groups = [o for column in case.subgroups for o in ("--subgroup", column)]
    arguments: list[object] = ["retrain", files["new"], "--deployed", model / "tree.json"]
    arguments += ["--target", OUTCOME, "--folds", "2", "--trees", "10", *groups, *case.retrain]
    arguments += ["--old", files["old"]] if case.old_rows else []
    out = folder / f"out{'-'.join(more)}"
    published = publish([*arguments, *more], out)
    trees = [load_tree(path) for path in (model / "tree.json", proposal(out))]
    return Report(published, tables, *trees, case, folder, fitted, tuple(arguments))
