"""The claims of Section 2.5 and Appendix B, judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction import published
from reproduction.findings.judge import Finding, Tables, count_text, share
from reproduction.settings import PROTOCOLS
from reproduction.summaries.paper import ALL
from reproduction.tables import Table, format_value, mean

__all__ = ["sensitivity_findings"]


def sensitivity_findings(tables: Tables) -> list[Finding]:
    """Judge the retraining example and the sensitivity of the distance."""
    return [finding for rule in (_example, _direct, _indirect) for finding in rule(tables)]


def _example(tables: Tables) -> list[Finding]:
    found = []
    for protocol in PROTOCOLS:
        rows = tables["example"].where(protocol=protocol) if "example" in tables else []
        if not rows:
            continue
        less = sum(r["pareto_bound"] < r["cv_bound"] for r in rows)
        cv, pareto = mean(r["cv_bound"] for r in rows), mean(r["pareto_bound"] for r in rows)
        assert cv is not None
        assert pareto is not None
        # "Hardly moves": a fifth or less of what the cross-validated tree moves.
        hardly = less == len(rows) and pareto <= cv / 5
        verdict = (
            "holds" if hardly else "holds in part" if 2 * less > len(rows) else "does not hold"
        )
        factor = published.EXAMPLE["cv"] / published.EXAMPLE["pareto"]
        ratio = f"{cv / pareto:.1f} times" if pareto > 0 else "infinitely"
        sentence = (
            f"Trees grown by the paper's method moved less than cross-validated ones in "
            f"{count_text(less, len(rows))} data sets, by a factor of {ratio.split()[0]} on "
            f"average; the paper's example shows {factor:.0f}."
        )
        found.append(
            Finding(
                "example",
                protocol,
                "Retrained on twice the data, the Pareto tree hardly moves; the CV tree does "
                "(sarcoma tumor, one split).",
                f"CV {share(published.EXAMPLE['cv'])}, Pareto "
                f"{format_value(published.EXAMPLE['pareto'], 'small')} of the bound",
                f"CV {share(cv)}, Pareto {share(pareto)} of the bound (mean of "
                f"{len(rows)} data sets)",
                verdict,
                sentence,
            )
        )
    return found


def _pooled(table: Table) -> list[dict[str, Any]]:
    """Rows of all data sets together, or of the only one."""
    return table.where(dataset=ALL) or table.rows


def _direct(tables: Tables) -> list[Finding]:
    if "direct" not in tables:
        return []
    rows = _pooled(tables["direct"])
    low, high = published.DIRECT[0.1], published.DIRECT[1.0]
    found = []
    for way, title in (("clipped", "clipped"), ("literal", "not clipped")):
        size = np.array([r["size"] for r in rows])
        distance = np.array([r[way] for r in rows])
        rises = bool((np.diff(distance) > 0).all())
        fit = np.corrcoef(size, distance)[0, 1] ** 2 if len(rows) > 2 else 1.0
        straight = bool(fit >= 0.98)
        verdict = "holds" if rises and straight else "holds in part" if rises else "does not hold"
        shape = "a straight line" if straight else "not a straight line"
        extent = "rises with every step" if rises else "does not rise with every step"
        outside = rows[-1]["outside"]
        largest = [r for r in tables["direct"].rows if r["size"] == size[-1]]
        most = max((r for r in largest if r["dataset"] != ALL), key=lambda r: r[way])
        found.append(
            Finding(
                "direct",
                "",
                f"The distance grows linearly with the perturbation of the thresholds ({title}).",
                f"{share(low)} at θmax = 0.1, {share(high)} at θmax = 1",
                f"{share(distance[0])} at θmax = {size[0]:g}, {share(distance[-1])} at θmax = "
                f"{size[-1]:g} (most: {most['dataset']}, {share(most[way])}); R² of a line "
                f"{fit:.3f}",
                verdict,
                f"The distance {extent} and is {shape}; at the largest perturbation "
                f"{share(outside)} of the thresholds have left the range of their feature.",
            )
        )
    return found


def _indirect(tables: Tables) -> list[Finding]:
    if "indirect" not in tables:
        return []
    rows = _pooled(tables["indirect"])
    distance = np.array([r["distance"] for r in rows])
    replaced = np.array([r["replaced"] for r in rows])
    trend = float(np.corrcoef(replaced, distance)[0, 1]) if len(rows) > 1 else 0.0
    rises = bool((np.diff(distance) > 0).all())
    verdict = "holds" if trend > 0.5 else "holds in part" if trend > 0 else "does not hold"
    first, last = rows[0], rows[-1]
    jump = first["dissimilarity"] / last["dissimilarity"] if last["dissimilarity"] else 0.0
    return [
        Finding(
            "indirect",
            "",
            "The distance tends to grow with the share of training rows replaced, not "
            "monotonically.",
            "an increasing trend (figure only)",
            f"{format_value(first['bound'], 'small')} of the bound at {share(replaced[0])} "
            f"replaced, {format_value(last['bound'], 'small')} at {share(replaced[-1])}; "
            f"correlation {format_value(trend, 'num')}",
            verdict,
            f"The mean distance {'rises with every step' if rises else 'does not always rise'}; "
            f"replacing {share(replaced[0])} of the rows already moves the tree "
            f"{share(jump)} as far (in dissimilarity) as replacing {share(replaced[-1])}.",
        )
    ]
