"""What steadying the leaves costs: ``python -m research.benchmarks.leaf_values``.

A leaf can say the mean of its teacher, the plain rate of its rows, or that rate steadied by the
teacher, which is what trees store. All three are scored on the untouched test rows of the
retraining table, for the very same proposals (price 0.2, from our own first tree and from CART).
The requirement: on average at most 0.2 AUC points and 0.001 of the Brier score worse than the
teacher's mean. Units (one data set, seed and start) are kept in .cache and done again
when the learner's code changes. Writes leaf_values.md.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import brier_score_loss, roc_auc_score

from research.benchmarks.retraining import learner_version
from research.benchmarks.unit_cache import UnitCache
from research.paper.retraining_methods import cart, distilled_first, priced_edits
from research.paper.retraining_protocol import NAMES, split_set

HERE = Path(__file__).parent
SEEDS = (0, 1)
STARTS = {"own": "our own first tree", "cart": "CART"}
WAYS = ("predicted", "observed", "teacher")
PRICE = "price 0.2"
MOST_AUC_LOST, MOST_BRIER_LOST = 0.2, 0.001


def one(name: str, seed: int, start: str) -> dict[str, float]:
    """Score one proposal three times, its leaves filled in three ways."""
    rows = split_set(name, seed)
    deployed = distilled_first(rows, seed) if start == "own" else cart(rows, seed, everything=False)
    tree = priced_edits(rows, deployed, seed).trees[PRICE]
    seen = tree.observed
    assert seen is not None
    count = seen.counts.sum(axis=(1, 2))
    outcomes = seen.counts[:, :, 1].sum(axis=1)
    predicted, teacher = tree.value[:, 1], seen.steadied_by[:, 1]
    # Where nobody was counted there is no rate; every way then says what the tree says.
    observed = np.where(count > 0, outcomes / np.maximum(count, 1), predicted)
    leaf = tree.apply(rows.X_test)
    out: dict[str, float] = {"leaves": tree.n_leaves}
    for way, value in zip(WAYS, (predicted, observed, teacher), strict=True):
        out[f"auc {way}"] = float(roc_auc_score(rows.y_test, value[leaf]))
        out[f"brier {way}"] = float(brier_score_loss(rows.y_test, value[leaf]))
    return out


def collect(names: tuple[str, ...], seeds: tuple[int, ...]) -> pd.DataFrame:
    """Score every set, seed and start, computed where the cache lacks them."""
    cache = UnitCache(f"leaf-values-{learner_version()}")
    keys = [
        {"name": name, "seed": seed, "start": start}
        for seed in seeds
        for start in STARTS
        for name in names
    ]
    return pd.DataFrame([cache.get(key, lambda key=key: one(**key)) for key in keys])


def differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Differences to the teacher's mean on the same test rows, one row per set and start."""
    sets = frame.groupby(["start", "name"]).mean(numeric_only=True)
    return pd.DataFrame(
        {
            **{f"auc {w}": 100 * (sets[f"auc {w}"] - sets["auc teacher"]) for w in WAYS[:2]},
            **{f"brier {w}": sets[f"brier {w}"] - sets["brier teacher"] for w in WAYS[:2]},
        }
    )


def mean_and_error(values: pd.Series[float]) -> tuple[float, float]:
    """Mean over the sets and its standard error; a set counts once, however many seeds."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return float(values.mean()), float(error)


def page(frame: pd.DataFrame) -> str:
    """Write the table of differences and whether the requirement holds."""
    apart, sets = differences(frame), frame.groupby(["start", "name"]).mean(numeric_only=True)
    lines = [
        "# What a leaf says: steadied rates against the teacher's mean\n",
        f"Written by `python -m research.benchmarks.leaf_values`; {frame['seed'].nunique()} seeds; "
        "test rows of the retraining table; differences to the teacher's mean in the same leaves: "
        "AUC in points (higher is better), Brier score (lower is better).\n",
        "| from | set | teacher's mean: AUC | Brier | as predicted: AUC | Brier "
        "| plain rates: AUC | Brier |",
        "|" + " --- |" * 8,
    ]
    for (start, name), row in apart.iterrows():
        base = sets.loc[(start, name)]
        cells = [
            *(start, name, f"{base['auc teacher']:.3f}", f"{base['brier teacher']:.4f}"),
            *(f"{row['auc predicted']:+.2f}", f"{row['brier predicted']:+.4f}"),
            *(f"{row['auc observed']:+.2f}", f"{row['brier observed']:+.4f}"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    parts = [(f"From {words}", apart.loc[s]) for s, words in STARTS.items() if s in apart.index]
    parts.append(("Both together", apart.groupby("name").mean()))
    for whence, part in parts:
        for way, called in (("predicted", "as predicted"), ("observed", "plain observed rates")):
            auc, auc_error = mean_and_error(part[f"auc {way}"])
            brier, brier_error = mean_and_error(part[f"brier {way}"])
            text = (
                f"\n{whence}, {called}: {auc:+.2f} ± {auc_error:.2f} AUC points, "
                f"Brier {brier:+.5f} ± {brier_error:.5f}"
            )
            if way == "predicted":
                met = auc >= -MOST_AUC_LOST and brier <= MOST_BRIER_LOST
                limits = f"−{MOST_AUC_LOST} points, +{MOST_BRIER_LOST}"
                text += f" (at worst {limits}: {'holds' if met else 'MISSED'})"
            lines.append(text + ".")
    return re.sub(r"(?<=[ (])-(?=\d)", "−", "\n".join(lines)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--sets", nargs="*", choices=NAMES, default=list(NAMES))
    options = parser.parse_args()
    text = page(collect(tuple(options.sets), tuple(range(options.seeds))))
    print(text)
    (HERE / "leaf_values.md").write_text(text)


if __name__ == "__main__":
    main()
