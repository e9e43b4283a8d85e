"""What `retrain` says to do, against the truth: ``python -m research.benchmarks.actions``.

Every unit is one call of `retrain` with its default settings (five folds, old rows given). The
deployed tree, the proposal and every candidate are then scored on rows that nothing was trained
or chosen on. Writes actions.md beside this file; units are kept in .cache there, so that a run can
be stopped and taken up again, and are done again when the learner's code changes.
"""

from __future__ import annotations

# Must precede the first import of a numeric library.
from research.benchmarks import single_thread  # noqa: F401  isort: skip

import argparse
import hashlib
import itertools
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import steadytree
from research.benchmarks.retraining import mean_se
from research.benchmarks.unit_cache import UnitCache
from research.paper.retraining_methods import cart, distilled_first
from research.paper.retraining_protocol import NAMES, Deployment, measure, split_set
from steadytree.evaluation.scores import Score, auc_influence, mean_parts, standard_error
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

HERE = Path(__file__).parent
TARGET, BEFORE = HERE / "actions.md", HERE / "actions_before.csv"
PACKAGE = Path(steadytree.__file__).parent

STARTS = {"own": "our first tree", "cart": "deployed CART"}
ACTIONS = ("keep", "re-estimate", "change")
SEEDS = 3
NOISE_SIZES, NOISE_RUNS = (200, 400, 1_000), 40
NOISE_RATE, NOISE_FEATURES, NOISE_TEST = 0.3, 8, 2_000
QUICK_SETS = ("colon", "wdbc")

CLEAR = 2.0
"""Paired standard errors by which a difference is clear."""
LEAD = 0.01
"""AUC by which a tree on offer must lead to be worth a sentence."""
MOST_WORSE, LEAST_NAMED = 0.03, 0.9

LOWER_IS_BETTER = {"auc": False, "brier": True, "cost": True}
WORDS = {"auc": "AUC", "brier": "Brier score", "cost": "mean cost"}
TRUTHS = ("clearly better", "no clear difference", "clearly worse")
KEY = ["part", "name", "start", "seed"]

# What is learnt and what is said to do depend on these; words and histories do not count.
SOURCES = ("growing", "retraining", "evaluation", "tree/decision.py", "estimators/distilled.py")
ONLY_WORDS = ("explanation", "history")


def learner_version(package: Path = PACKAGE) -> str:
    """Digest of the imported package's code that units depend on, and of the protocol's."""
    files = [HERE.parent / "paper" / "retraining_protocol.py"]
    for name in SOURCES:
        found = sorted((package / name).rglob("*.py")) if (package / name).is_dir() else []
        found = found or [package / name]
        files += [
            path
            for path in found
            if not any(part.startswith(ONLY_WORDS) for part in path.relative_to(package).parts)
        ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


# -- one retraining, and the truth about it -------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a retraining says to do, in the words of today's results."""

    action: str
    confidence: str
    rebuild_advised: bool
    tree: Tree
    forgone: str  # the candidate named as what one would give up, or ""
    forgone_lead: float
    forgone_error: float
    forgone_flips: float


def answer_of(result: Any) -> Answer:
    """Read the answer; results made before there was one action are translated."""
    if hasattr(result, "action"):
        named = result.forgone
        lead = (named.lead, named.error) if named else (np.nan, np.nan)
        action, confidence, tree = result.action, result.confidence, result.tree
        rebuild = bool(result.rebuild_advised)
    else:
        named, said = result.verdict.rival, result.verdict.action
        lead = (named.lead.value, named.lead.error) if named else (np.nan, np.nan)
        action = {"adopt": "change", "re-estimate only": "re-estimate"}.get(said, "keep")
        confidence, rebuild = "", said == "consider rebuilding"
        tree = result.deployed if action == "keep" else result.tree
    return Answer(
        action,
        str(confidence),
        rebuild,
        tree,
        named.name if named else "",
        float(lead[0]),
        float(lead[1]),
        float(named.flips) if named else np.nan,
    )


def retrain_by_default(deployment: Deployment, deployed: Tree, seed: int) -> Any:
    """Call `retrain` as a user would."""
    old = deployment.X_old, deployment.y_old
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return steadytree.retrain(
            deployed, deployment.X_new, deployment.y_new, old=old, random_state=seed
        )


def noise(n_new: int, seed: int) -> Deployment:
    """Rows whose outcomes follow nothing, before as after: as many old rows as new ones."""
    rng = np.random.default_rng([seed, n_new])
    n = 2 * n_new + NOISE_TEST
    columns = [f"x{j}" for j in range(NOISE_FEATURES)]
    X = pd.DataFrame(rng.random((n, NOISE_FEATURES)), columns=columns)
    y = (rng.random(n) < NOISE_RATE).astype(np.int64)
    parts = [slice(0, n_new), slice(n_new, 2 * n_new), slice(2 * n_new, n)]
    tables = [X.iloc[rows].reset_index(drop=True) for rows in parts]
    space = FeatureSpace.from_data(X[: 2 * n_new], y[: 2 * n_new], task="classification")
    old, new, test = zip(tables, (y[rows] for rows in parts), strict=True)
    return Deployment(space, *old, *new, *test)


def truth(deployment: Deployment, tree: Tree) -> dict[str, Score]:
    """AUC, Brier score and mean cost under the policy, on the test rows."""
    y, X, at = deployment.y_test == 1, deployment.X_test, deployment.base_rate
    risk, flagged = tree.predict_proba(X)[:, 1], tree.predict(X) == 1
    costs = np.where(flagged == y, 0.0, np.where(y, 1 - at, at))
    everyone = np.ones(len(y), dtype=bool)
    return {
        "auc": auc_influence(y, risk),
        "brier": mean_parts((risk - y) ** 2, everyone).score(),
        "cost": mean_parts(costs, everyone).score(),
    }


def paired(after: Score, before: Score) -> tuple[float, float]:
    """Difference of two scores on the same rows, and its standard error."""
    difference = after.minus(before)
    return difference.value, standard_error(difference.influence)


def compared(
    deployment: Deployment, before: tuple[Tree, dict[str, Score]], after: Tree
) -> dict[str, float]:
    """How far a tree is from the deployed one, and its true changes on the test rows."""
    deployed, was = before
    now, found = truth(deployment, after), measure(deployment, deployed, after)
    numbers = {name: found[name] for name in ("dissimilarity", "distance", "flips")}
    for name in LOWER_IS_BETTER:
        numbers[name], numbers[f"{name}_se"] = paired(now[name], was[name])
    return numbers


def run_unit(part: str, name: str, start: str, seed: int) -> dict[str, Any]:
    """Retrain once by default, and tell the truth about the answer and what else was on offer."""
    deployment = split_set(name, seed) if part == "sets" else noise(int(name), seed)
    if start == "own":
        deployed = distilled_first(deployment, seed)
    else:
        deployed = cart(deployment, seed, everything=False)
    began = time.perf_counter()
    result = retrain_by_default(deployment, deployed, seed)
    answer, seconds = answer_of(result), time.perf_counter() - began
    was = truth(deployment, result.deployed)
    trees = {
        "": answer.tree,
        "proposal_": result.tree,
        "scratch_": result.trees["from scratch"],
    }
    unit: dict[str, Any] = {
        **{key: value for key, value in vars(answer).items() if key != "tree"},
        "chosen": result.chosen,
        **{f"{measured}_keep": score.value for measured, score in was.items()},
        "leaves_keep": result.deployed.n_leaves,
        "leaves": answer.tree.n_leaves,
    }
    for prefix, tree in trees.items():
        numbers = compared(deployment, (result.deployed, was), tree)
        unit |= {prefix + key: value for key, value in numbers.items()}
    taken = truth(deployment, answer.tree)["auc"]
    unit["candidates"] = {
        candidate: paired(truth(deployment, tree)["auc"], taken)
        for candidate, tree in result.trees.items()
    }
    return {**unit, **on_offer(unit["candidates"], answer.forgone), "seconds": seconds}


def on_offer(leads: dict[str, tuple[float, float]], named: str) -> dict[str, Any]:
    """Say which candidate truly leads most, which most of those that clearly do, and the named one.

    Leads are in AUC over the tree of the action, with paired standard errors, on the test rows.
    """
    clear = {name: one for name, one in leads.items() if one[0] > max(CLEAR * one[1], LEAD)}
    found: dict[str, Any] = {}
    for word, among in (("best", leads), ("clear", clear)):
        name = max(among, key=lambda name: among[name][0], default="")
        value, error = leads.get(name, (np.nan, np.nan))
        found |= {word: name, f"{word}_lead": value, f"{word}_lead_se": error}
    value, error = leads.get(named, (np.nan, np.nan))
    return {**found, "forgone_true_lead": value, "forgone_true_se": error}


# -- all of them ----------------------------------------------------------------------------


def real_units(names: Iterable[str], seeds: int) -> Iterator[dict[str, Any]]:
    for seed, name, start in itertools.product(range(seeds), names, STARTS):
        yield {"part": "sets", "name": name, "start": start, "seed": seed}


def noise_units(sizes: Iterable[int], runs: int) -> Iterator[dict[str, Any]]:
    """All sizes and starts by turns, so that a run that is stopped early has all of them."""
    for seed, n_new, start in itertools.product(range(runs), sizes, STARTS):
        yield {"part": "noise", "name": str(n_new), "start": start, "seed": seed}


def collect(units: list[dict[str, Any]], *, jobs: int, run: bool) -> pd.DataFrame:
    """All units, computed where the cache lacks them (or only those at hand)."""
    cache = UnitCache(f"actions-{learner_version()}")
    done = {tuple(unit[key] for key in KEY) for unit in cache.units}
    missing = [unit for unit in units if tuple(unit[key] for key in KEY) not in done]
    if run and jobs == 1:
        for unit in missing:
            cache.get(unit, lambda unit=unit: run_unit(**unit))
    elif run:
        with ProcessPoolExecutor(jobs) as pool:
            futures = {pool.submit(run_unit, **unit): unit for unit in missing}
            for future in as_completed(futures):
                cache.get(futures[future], future.result)
    wanted = {tuple(unit[key] for key in KEY) for unit in units}
    at_hand = [unit for unit in cache.units if tuple(unit[key] for key in KEY) in wanted]
    return pd.DataFrame(at_hand, columns=None if at_hand else KEY)


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """The units as they are stored in a CSV file: one row each, six digits."""
    frame = frame.drop(columns="candidates", errors="ignore")
    return frame.sort_values(KEY).round(6).reset_index(drop=True)


def read_before(path: Path = BEFORE) -> pd.DataFrame | None:
    if not path.exists():
        return None
    words = ("name", "confidence", "forgone", "best", "clear")
    return pd.read_csv(path, dtype=dict.fromkeys(words, str)).fillna(dict.fromkeys(words, ""))


# -- tables ---------------------------------------------------------------------------------


def clearly(change: float, error: float, *, lower_is_better: bool) -> str:
    """Say whether a paired change is clearly better or worse, or neither."""
    gain = -change if lower_is_better else change
    if abs(gain) <= CLEAR * error or gain == 0:
        return "no clear difference"
    return "clearly better" if gain > 0 else "clearly worse"


def per_set(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, one row per set."""
    return frame.groupby("name").mean(numeric_only=True)


def share_kept(sets: pd.DataFrame, prefix: str = "") -> float:
    """Of what training from scratch gains in AUC, the percentage that is kept."""
    return float(100 * sets[f"{prefix}auc"].sum() / sets["scratch_auc"].sum())


def less_than_scratch(sets: pd.DataFrame, what: str, prefix: str = "") -> pd.Series[float]:
    """By how many per cent a tree moved less than the one from scratch, set by set."""
    return 100 * (1 - sets[f"{prefix}{what}"] / sets[f"scratch_{what}"])


def jackknife(values: NDArray[np.float64]) -> float:
    """Standard error of a statistic from its values without each set."""
    n = len(values)
    return float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))


def kept_words(now: pd.DataFrame, was: pd.DataFrame | None = None, prefix: str = "") -> str:
    """Write the share of the gain that is kept, or how it differs, with its error over sets."""

    def value(names: pd.Index[str]) -> float:
        less = 0.0 if was is None else share_kept(was.loc[names], "proposal_")
        return share_kept(now.loc[names], prefix) - less

    if len(now) < 2:
        return f"{value(now.index):.0f}"
    left_out = np.array([value(now.index.drop(name)) for name in now.index])
    return f"{value(now.index):.0f} ± {jackknife(left_out):.0f}"


PAIRED_COLUMNS = (
    "start | tree | sets | gain kept % | less dissimilarity than scratch % | "
    "less paper distance than scratch % | decisions changed % | AUC points | "
    "mean cost × 1,000 | Brier score × 1,000"
)


def described(sets: pd.DataFrame, prefix: str = "") -> list[str]:
    return [
        str(len(sets)),
        kept_words(sets, prefix=prefix),
        mean_se(less_than_scratch(sets, "dissimilarity", prefix)),
        mean_se(less_than_scratch(sets, "distance", prefix)),
        mean_se(100 * sets[f"{prefix}flips"]),
        mean_se(100 * sets[f"{prefix}auc"], 2),
        mean_se(1000 * sets[f"{prefix}cost"], 2),
        mean_se(1000 * sets[f"{prefix}brier"], 2),
    ]


def differing(now: pd.DataFrame, was: pd.DataFrame) -> list[str]:
    """Today's tree minus the earlier proposal, set by set."""

    def difference(what: str) -> pd.Series[float]:
        return now[what] - was[f"proposal_{what}"]

    def less(what: str) -> pd.Series[float]:
        return less_than_scratch(now, what) - less_than_scratch(was, what, "proposal_")

    return [
        str(len(now)),
        kept_words(now, was),
        mean_se(less("dissimilarity")),
        mean_se(less("distance")),
        mean_se(100 * difference("flips")),
        mean_se(100 * difference("auc"), 2),
        mean_se(1000 * difference("cost"), 2),
        mean_se(1000 * difference("brier"), 2),
    ]


def header(columns: str) -> list[str]:
    return [f"| {columns} |", "|" + " --- |" * (columns.count("|") + 1)]


def line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def shared(now: pd.DataFrame, before: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The units that both have, in one order."""
    now, before = now.set_index(KEY).sort_index(), before.set_index(KEY).sort_index()
    both = now.index.intersection(before.index)
    return now.loc[both].reset_index(), before.loc[both].reset_index()


def paired_table(now: pd.DataFrame, before: pd.DataFrame | None) -> str:
    """Today's default beside the earlier one on the real sets, and the paired difference."""
    lines = header(PAIRED_COLUMNS)
    for start, words in STARTS.items():
        rows = now[(now["part"] == "sets") & (now["start"] == start)]
        if before is not None:
            rows, was = shared(rows, before)
        if rows.empty:
            continue
        sets = per_set(rows)
        if before is not None:
            earlier = per_set(was)
            lines.append(line(words, "before, proposal", *described(earlier, "proposal_")))
            lines.append(line(words, "before, what the verdict said", *described(earlier)))
        lines.append(line(words, "now", *described(sets)))
        if before is not None:
            lines.append(line(words, "now minus proposal before", *differing(sets, earlier)))
    return "\n".join(lines)


def same_start(now: pd.DataFrame, before: pd.DataFrame) -> str:
    """In how many units both deployed the same tree, as far as leaves and scores tell."""
    words = []
    for start, called in STARTS.items():
        rows, was = shared(now[now["start"] == start], before)
        alike = (rows["leaves_keep"] == was["leaves_keep"]) & np.isclose(
            rows["brier_keep"], was["brier_keep"], atol=1e-6
        )
        words.append(f"{called} {int(alike.sum())} of {len(rows)}")
    return "; ".join(words)


def noise_table(now: pd.DataFrame, before: pd.DataFrame | None) -> str:
    """Share of decisions that a retraining changes where nothing is to be learnt."""
    lines = header(
        "start | new rows | runs | decisions changed %, before | now | now minus before | "
        "runs that change a decision %, before | now | dissimilarity %, before | now"
    )
    for start, n_new in itertools.product(STARTS, NOISE_SIZES):
        chosen = (now["part"] == "noise") & (now["start"] == start) & (now["name"] == str(n_new))
        rows = now[chosen]
        cells = ["", "", "", ""]
        if before is not None:
            rows, was = shared(rows, before)
            flips = was["proposal_flips"]
            cells = [
                mean_se(100 * flips),
                mean_se(100 * (rows["flips"] - flips)),
                f"{100 * (flips > 0).mean():.0f}",
                mean_se(100 * was["proposal_dissimilarity"]),
            ]
        if rows.empty:
            continue
        lines.append(
            line(
                STARTS[start],
                f"{n_new:,}",
                len(rows),
                *(cells[0], mean_se(100 * rows["flips"]), cells[1]),
                *(cells[2], f"{100 * (rows['flips'] > 0).mean():.0f}"),
                *(cells[3], mean_se(100 * rows["dissimilarity"])),
            )
        )
    return "\n".join(lines)


def truths(rows: pd.DataFrame, measured: str) -> pd.Series[str]:
    lower = LOWER_IS_BETTER[measured]
    pairs = zip(rows[measured], rows[f"{measured}_se"], strict=True)
    words = [clearly(change, error, lower_is_better=lower) for change, error in pairs]
    return pd.Series(words, index=rows.index, dtype=object)


def action_table(frame: pd.DataFrame) -> str:
    """Action against true change on untouched rows, for every measure."""
    lines = header(
        f"action | runs | rebuild advised | measure | {' | '.join(TRUTHS)} | clearly worse % | "
        f"at most {100 * MOST_WORSE:.0f} %?"
    )
    for action in ACTIONS:
        rows = frame[frame["action"] == action]
        if rows.empty:
            continue
        for measured, word in WORDS.items():
            counts = truths(rows, measured).value_counts()
            numbers = [int(counts.get(true, 0)) for true in TRUTHS]
            worse = numbers[-1] / len(rows)
            holds = "yes" if worse <= MOST_WORSE else "no"
            advised = int(rows["rebuild_advised"].sum())
            lines.append(
                line(action, len(rows), advised, word, *numbers, f"{100 * worse:.1f}", holds)
            )
    return "\n".join(lines)


def confidence_table(frame: pd.DataFrame) -> str:
    """How often a stated confidence goes with a true improvement in some measure."""
    lines = header(
        "confidence | runs | clearly better in a measure | clearly worse in a measure | "
        "mean AUC points | mean Brier score × 1,000 | mean cost × 1,000"
    )
    for confidence, rows in frame.groupby("confidence"):
        found = pd.DataFrame({measured: truths(rows, measured) for measured in WORDS})
        better, worse = ((found == TRUTHS[i]).any(axis=1).sum() for i in (0, 2))
        means = [mean_se(100 * rows["auc"], 2)]
        means += [mean_se(1000 * rows[measured], 2) for measured in ("brier", "cost")]
        lines.append(line(confidence, len(rows), better, worse, *means))
    return "\n".join(lines)


def named_table(frame: pd.DataFrame) -> str:
    """Where a clearly better tree was on offer: whether one was named."""
    lines = header(
        "action | runs | a clearly better tree on offer | a candidate was named | "
        "a clearly better one was named | the best, or one as good | named % | "
        f"at least {100 * LEAST_NAMED:.0f} %? | named where none was clearly better"
    )
    groups = [(action, frame[frame["action"] == action]) for action in ACTIONS]
    for action, rows in [*groups, ("all", frame)]:
        if rows.empty:
            continue
        offered = rows[rows["clear"] != ""]
        lead, error = offered["forgone_true_lead"], offered["forgone_true_se"]
        clear = (lead > CLEAR * error) & (lead > LEAD)
        as_good = lead >= offered["clear_lead"] - 1e-9
        share = clear.mean() if len(offered) else np.nan
        percent = f"{100 * share:.0f}" if len(offered) else ""
        holds = ("yes" if share >= LEAST_NAMED else "no") if len(offered) else ""
        rest = rows[rows["clear"] == ""]
        lines.append(
            line(
                *(action, len(rows), len(offered), int((offered["forgone"] != "").sum())),
                *(int(clear.sum()), int(as_good.sum()), percent, holds),
                f"{int((rest['forgone'] != '').sum())} of {len(rest)}",
            )
        )
    return "\n".join(lines)


def page(now: pd.DataFrame, before: pd.DataFrame | None) -> str:
    parts = [f"# What `retrain` says to do, against the truth\n\n{INTRODUCTION}"]
    parts.append(f"## The default, before and now\n\n{paired_table(now, before)}")
    if before is not None:
        parts.append(
            f"{PAIRED_NOTE} The deployed tree is the same as before in: {same_start(now, before)}."
        )
    if (now["part"] == "noise").any():
        parts.append(f"### Pure noise\n\n{NOISE_NOTE}\n\n{noise_table(now, before)}")
    frames = [("now", now)] if before is None else [("now", now), ("before", before)]
    for title, table, note in (
        ("Action against true change", action_table, ACTION_NOTE),
        ("Was a clearly better tree named?", named_table, NAMED_NOTE),
    ):
        parts.append(f"## {title}\n\n{note}")
        for (when, frame), (part, called) in itertools.product(frames, PARTS.items()):
            rows = frame[frame["part"] == part]
            if not rows.empty:
                parts.append(f"{called}, {when}:\n\n{table(rows)}")
    if now["confidence"].ne("").any():
        parts.append("## Confidence against true change")
        for part, called in PARTS.items():
            rows = now[now["part"] == part]
            if not rows.empty:
                parts.append(f"{called}:\n\n{confidence_table(rows)}")
    seconds = now.groupby("part")["seconds"].mean()
    words = ", ".join(f"{PARTS[str(part)].lower()} {value:.1f}" for part, value in seconds.items())
    return "\n\n".join([*parts, f"Seconds of a call, on average: {words}."]) + "\n"


PARTS = {"sets": "Real sets", "noise": "Pure noise"}

INTRODUCTION = """Written by `python -m research.benchmarks.actions`. One run is one call of
`retrain` by default on one set, start and seed: 40 % of the rows deploy a tree, 30 % are new, 30 %
are untouched and tell the truth (at most 4,000 rows; in order of time where there is a year). The
policy is the base rate t of the deploy rows: a false positive costs t, a missed event 1 − t. The
tree of the action is compared with the deployed one on the untouched rows; "clearly" is two
paired standard errors, which chance alone exceeds to either side in about 2.3 % of runs."""
PAIRED_NOTE = """Means over sets (of seeds) ± standard errors, the share of the gain ± its
jackknife error over sets. The gain is what training from scratch adds in AUC to the deployed
tree. Cost and Brier score are changes against the deployed tree: below 0 is better. Where the
recipe of the first tree or of scratch has changed too, "before" and "now" are of other trees."""
NOISE_NOTE = f"""{NOISE_FEATURES} uniform predictors, an outcome of rate {NOISE_RATE:g} that
follows none of them, as many old rows as new ones, nothing changed between them; decisions are
counted on {NOISE_TEST:,} further rows. Before: the proposal."""
ACTION_NOTE = """The true change of the tree of the action against the deployed tree; of "keep" it
is 0 by definition. Before, the verdict could say "keep" above another proposal: counted is what
the verdict said."""
NAMED_NOTE = f"""On offer: a candidate of the frontier whose true AUC leads that of the tree of the
action by more than two paired errors and {LEAD:g}. Named: as what one would give up. "Named %"
counts runs in which the named candidate was itself clearly better. The best of some dozen
candidates on the untouched rows is flattered, so that some of those on offer are there by chance:
on pure noise, where no tree can be better, all of them are. Before, a candidate was
named against the proposal, also where the verdict said "keep"."""


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", choices=NAMES)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--noise-runs", type=int, default=NOISE_RUNS)
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    parser.add_argument("--quick", action="store_true", help="two sets, one seed, one noise run")
    parser.add_argument("--no-run", action="store_true", help="only the units at hand")
    parser.add_argument("--show", action="store_true", help="print tables, write nothing")
    parser.add_argument("--save", type=Path, help="write the units to a CSV file, and no page")
    options = parser.parse_args(argv)
    if options.quick:
        options.sets, options.seeds, options.noise_runs = QUICK_SETS, 1, 1
    units = [
        *real_units(options.sets or NAMES, options.seeds),
        *noise_units(NOISE_SIZES, options.noise_runs),
    ]
    frame = collect(units, jobs=options.jobs, run=not options.no_run)
    print(f"{len(frame)} of {len(units)} units\n")
    if frame.empty:
        return
    if options.save:
        flat(frame).to_csv(options.save, index=False)
        return
    text = page(flat(frame), read_before())
    print(text)
    if not (options.show or options.quick):
        TARGET.write_text(text)


if __name__ == "__main__":
    main()
