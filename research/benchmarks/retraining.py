"""The retraining table: ``python -m research.benchmarks.retraining`` writes retraining.md.

Units (one data set, one seed) are kept in research/benchmarks/.cache, so that a run can be stopped
and taken up again; those of our own methods are done again when the learner's code changes.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd

from research.benchmarks.unit_cache import UnitCache
from research.paper.retraining_methods import METHOD_KINDS
from research.paper.retraining_protocol import NAMES, TUNING, UNTOUCHED, coin_gain, split_set
from steadytree.retraining.retrain import DEFAULT_PRICE

HERE = Path(__file__).parent
SEEDS = (0, 1, 2)
FIXED_VERSION = "2"
REFERENCE = "CART retrained"

# What the rows of our own methods depend on; the others are done once (FIXED_VERSION).
LEARNER_SOURCES = (
    "src/steadytree/growing",
    "src/steadytree/retraining/edits",
    "src/steadytree/retraining/frontier.py",
    "src/steadytree/retraining/problem.py",
    "src/steadytree/retraining/inputs.py",
    "src/steadytree/retraining/runs.py",
    "research/paper/retraining_methods.py",
    "research/paper/retraining_protocol.py",
)


def learner_version(root: Path = HERE.parents[1]) -> str:
    """Digest of the code that our own rows depend on; a source that is gone is an error."""
    files: list[Path] = []
    for name in LEARNER_SOURCES:
        found = sorted((root / name).rglob("*.py")) if (root / name).is_dir() else [root / name]
        if not found:
            raise FileNotFoundError(f"expected Python files in {root / name}, got none")
        files += found
    text = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(text).hexdigest()[:12]


def collect(
    names: tuple[str, ...], seeds: tuple[int, ...], kinds: tuple[str, ...] = tuple(METHOD_KINDS)
) -> pd.DataFrame:
    """All rows of the chosen sets and seeds, computed where the cache lacks them."""
    rows = []
    for kind in kinds:
        version = learner_version() if kind == "ours" else FIXED_VERSION
        cache = UnitCache(f"retraining-{kind}-{version}")
        for seed in seeds:
            for name in names:
                unit = cache.get(
                    {"name": name, "seed": seed},
                    lambda kind=kind, name=name, seed=seed: {
                        "rows": list(METHOD_KINDS[kind](split_set(name, seed), seed))
                    },
                )
                rows += [{"name": name, "seed": seed, **row} for row in unit["rows"]]
    return pd.DataFrame(rows)


def mean_se(values: pd.Series[float], digits: int = 1) -> str:
    values = values.dropna()
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


def per_set(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, one row per set, start and method, with everything relative."""
    numbers = frame.groupby(["name", "start", "method"]).mean(numeric_only=True).reset_index()
    cart = numbers[numbers.method == REFERENCE].set_index("name")
    out = []
    for _, row in numbers.iterrows():
        base = cart.loc[row["name"]]
        record = dict(row)
        record["less_distance"] = 100 * (1 - row["distance"] / base["distance"])
        record["less_dissimilarity"] = 100 * (1 - row["dissimilarity"] / base["dissimilarity"])
        record["auc_vs_cart"] = 100 * (row["auc"] - base["auc"])
        record["flips_half_pct"] = 100 * row["flips_half"]
        record["flips_base_pct"] = 100 * row["flips_base"]
        record["balanced_vs_cart"] = row["balanced_accuracy"] - base["balanced_accuracy"]
        record["flips_ratio"] = row["flips_base"] / base["flips_base"]
        start = "own" if row["start"] == "own" else "cart"
        ours_here = numbers[(numbers.name == row["name"]) & (numbers.start == start)]
        ours_here = ours_here.set_index("method")
        scratch, keep = ours_here.loc["from scratch"], ours_here.loc["keep"]
        gain = 100 * (scratch["auc"] - keep["auc"])
        coin = coin_gain(gain, row["distance"], scratch["distance"])
        record["gain"] = gain
        record["less_than_scratch"] = 100 * (1 - row["distance"] / scratch["distance"])
        record["scratch"] = scratch["distance"]
        record["gained"] = 100 * (row["auc"] - keep["auc"])
        record["auc_vs_scratch"] = 100 * (row["auc"] - scratch["auc"])
        record["vs_coin"] = record["gained"] - coin
        out.append(record)
    return pd.DataFrame(out)


OURS = (
    *("default", "re-estimate"),
    *("price 0.3", "price 0.25", "price 0.2", "price 0.1", "from scratch"),
)
METHOD_ORDER = [
    ("cart", REFERENCE),
    ("cart", "keep"),
    ("cart", "the paper's method"),
    ("stable-cart", "stable-cart 3.0.0"),
    ("own", "keep"),
    *[("own", m) for m in OURS],
    *[("cart", m) for m in OURS],
]
STARTS = {"cart": "deployed CART", "own": "our first tree", "stable-cart": "its own"}


def table(sets: pd.DataFrame) -> str:
    head = (
        "| start | method | less paper distance % | less than our scratch % | "
        "less dissimilarity % | flips at 0.5 % | "
        "flips at base rate % | flips / CART's | AUC against CART | AUC against our scratch | "
        "gain kept % | above coin line | lose > 1 point | leaves | identical % | seconds |\n"
        "|" + " --- |" * 16
    )
    lines = [head]
    for start, method in METHOD_ORDER:
        rows = sets[(sets.start == start) & (sets.method == method)]
        if rows.empty:
            continue
        kept = 100 * rows.gained.sum() / rows.gain.sum() if start != "stable-cart" else float("nan")
        lost = int((rows.auc_vs_cart < -1).sum())
        ratio = rows.flips_base.mean() / sets[sets.method == REFERENCE].flips_base.mean()
        cells = [
            STARTS[start],
            method,
            mean_se(rows.less_distance),
            mean_se(rows.less_than_scratch) if start != "stable-cart" else "",
            mean_se(rows.less_dissimilarity),
            mean_se(rows.flips_half_pct),
            mean_se(rows.flips_base_pct),
            f"{ratio:.2f}",
            mean_se(rows.auc_vs_cart, 2),
            mean_se(rows.auc_vs_scratch, 2) if start != "stable-cart" else "",
            f"{kept:.0f}" if start != "stable-cart" else "",
            mean_se(rows.vs_coin, 2) if start != "stable-cart" else "",
            f"{lost} of {len(rows)}",
            f"{rows.leaves.mean():.0f}",
            f"{100 * rows.identical.mean():.0f}",
            f"{rows.seconds.mean():.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def decision_table(sets: pd.DataFrame) -> str:
    """Decisions, calibration and moved risks of every method."""
    lines = [
        "| start | method | balanced accuracy % | against CART | sensitivity % | specificity % | "
        "mean predicted minus observed, points | Brier score | risk moved > 5 points, % of rows | "
        "> 10 points |\n|" + " --- |" * 10
    ]
    for start, method in METHOD_ORDER:
        rows = sets[(sets.start == start) & (sets.method == method)]
        if rows.empty:
            continue
        cells = [
            STARTS[start],
            method,
            mean_se(100 * rows.balanced_accuracy),
            mean_se(100 * rows.balanced_vs_cart, 2),
            mean_se(100 * rows.sensitivity),
            mean_se(100 * rows.specificity),
            mean_se(100 * rows.calibration, 2),
            mean_se(rows.brier, 4),
            mean_se(100 * rows.moved_5),
            mean_se(100 * rows.moved_10),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


BEFORE = HERE / "retraining_before.csv"
"""Means by set of the engine before edits were judged by ranking and deviance (a45b603)."""


def paired_table(sets: pd.DataFrame, before: pd.DataFrame) -> str:
    """Return what changed since an earlier engine, by method: paired differences over sets."""
    lines = [
        "| start | method | AUC points | Brier score × 1,000 | distance, points of our scratch's | "
        "flips at base rate, points |\n|" + " --- |" * 6
    ]
    old = before.set_index(["start", "method", "name"])
    for start, method in METHOD_ORDER:
        now = sets[(sets.start == start) & (sets.method == method)].set_index("name")
        names = [name for name in now.index if (start, method, name) in old.index]
        if method not in OURS or not names:
            continue
        was, now = old.loc[(start, method)].loc[names], now.loc[names]
        cells = [
            STARTS[start],
            method,
            mean_se(100 * (now.auc - was.auc), 2),
            mean_se(1000 * (now.brier - was.brier), 2),
            mean_se(100 * now.distance / now.scratch - 100 * was.distance / was.scratch, 1),
            mean_se(100 * (now.flips_base - was.flips_base), 1),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["tuning", "untouched", "all"], default="all")
    parser.add_argument("--sets", nargs="*", choices=NAMES)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--no-drift", action="store_true", help="leave out the synthetic drift")
    parser.add_argument("--show", action="store_true", help="print tables, write nothing")
    options = parser.parse_args(argv)
    names = {"tuning": TUNING, "untouched": UNTOUCHED, "all": NAMES}[options.half]
    names = tuple(options.sets or names)
    frame = collect(names, tuple(range(options.seeds)))
    sets = per_set(frame)
    parts = [f"# Retraining\n\n{INTRODUCTION.format(seeds=options.seeds)}"]
    halves = [("All sets", names), ("Tuning half", TUNING), ("Untouched half", UNTOUCHED)]
    for title, chosen in (
        halves if len(names) == len(NAMES) else [("Sets: " + ", ".join(names), names)]
    ):
        inside = sets[sets.name.isin(chosen)]
        parts.append(f"## {title} ({len(chosen)})\n\n{table(inside)}\n\n{decision_table(inside)}")
        if BEFORE.exists():
            table_of = paired_table(inside, pd.read_csv(BEFORE))
            parts.append(
                f"Since edits are judged by ranking and deviance instead of squared error "
                f"(paired over sets, now minus before):\n\n{table_of}"
            )
    if not options.no_drift:
        from research.benchmarks.retraining_drift import drift_section

        parts.append(drift_section(learner_version()))
    text = "\n\n".join(parts) + "\n"
    print(text)
    if not options.show:
        (HERE / "retraining.md").write_text(text)


INTRODUCTION = f"""Written by `python -m research.benchmarks.retraining` (`make bench-retraining`).

40 % of the rows deploy a tree, 30 % arrive later, 30 % are untouched test rows; at most 4,000
rows a set; {{seeds}} seeds. Sets with a calendar year are split in its order (the test rows
are the latest), the others at random; crashes stay together. All trees are labelled at the base
rate of the deploy rows. Means ± standard errors over sets. "Less" is against the distance between
the deployed CART tree and independently retrained cross-validated CART; "less than our scratch"
against that of our own recipe from scratch, from the same start. The coin line: keeping or
retraining from scratch at random keeps (1 − r) of the gain G = AUC(scratch) − AUC(keep) at a
distance of 1 − r of scratch's. AUC in points (hundredths). "default" is what
`retrain` proposes: as much of the tree at price {DEFAULT_PRICE} as rows left out confirm. Our
seconds are those of the whole call with its five folds; CART is grown once per fold and truncated,
which makes it ten times faster than a plain grid search (`retraining_speed` times
that). stable-cart looks for a representative tree each time, so it is compared with its own first
tree.

Halves, fixed by a rule before anything was tuned (alphabetical, alternating): tuning
{", ".join(TUNING)}; untouched {", ".join(UNTOUCHED)}."""


if __name__ == "__main__":
    main()
