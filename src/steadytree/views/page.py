"""What a page says of a summary: its head, its tables of words, and what it draws.

Every number is a cell of the summary, in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from steadytree.diff.candidate_trees import STATUS_LETTERS
from steadytree.diff.tree_diff import kept_sentence
from steadytree.publish.cells import people_words
from steadytree.retraining.explanation import Explanation, alarm_words, explain_summary
from steadytree.retraining.frontier import TOO_FEW
from steadytree.tree.words import PAGE, clean
from steadytree.views.figures import fold_nodes

Summary = Mapping[str, Any]
Fact = tuple[str, str, str]

MAX_DRAWN_RULES = 24
"""Ends drawn per tree before deep branches are folded."""
_LONGEST = 300
# A setting that another line of the provenance holds already.
_ELSEWHERE = "steadytree"
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")


def page_words(words: str) -> str:
    """Clean a text of strangers, with the signs of a page."""
    shown = _MINUS.sub(PAGE.minus, clean(words)) if words else ""
    return shown.replace(" <= ", " ≤ ").replace(" >= ", " ≥ ")


def page_content(summary: Summary, title: str | None = None) -> dict[str, Any]:
    """Return what the page says, in words, beside what the summary holds."""
    kind = summary["kind"]
    diff = diff_of(summary)
    told = explain_summary(summary, PAGE) if kind == "retraining" else None
    old, new = names_of(summary)
    kept, policies = diff["kept"], diff["policy"]
    before, after = ("" if p is None else p["words"] for p in (policies["old"], policies["new"]))
    policy = after if before in ("", after) else f"{old}: {before}. {new}: {after}"
    trees = f"the {new[:1].lower()}{new[1:]}", f"the {old[:1].lower()}{old[1:]}"
    lines = _lines(summary, told)
    return {
        "title": page_words(title or _title(kind, told)),
        "names": {"old": old, "new": new},
        "policy": page_words(policy),
        "warnings": [page_words(w) for w in (alarm_words(diff, new=trees[0], old=trees[1]),) if w],
        "lines": [page_words(line) for line in lines if line],
        "facts": [
            {"label": label, "value": value, "detail": detail}
            for label, value, detail in _facts(summary, diff)
        ],
        "test": _test(summary) if kind == "retraining" and summary["test"] else None,
        "kept": "" if kept is None else page_words(kept_sentence(kept, PAGE)),
        "rows": "new rows" if kind == "retraining" else "rows",
        "provenance": [
            {"label": clean(label), "value": page_words(_cut(value))}
            for label, value in _provenance(summary, diff)
            if value
        ],
        "notes": [page_words(note) for note in summary.get("notes", ())],
        **drawn_content(summary),
    }


def diff_of(summary: Summary) -> Summary:
    """Return the part of a summary that is about two trees."""
    return summary if summary["kind"] == "diff" else summary["diff"]


def names_of(summary: Summary) -> tuple[str, str]:
    """Return what the old and the new tree are called."""
    if summary["kind"] == "retraining":
        keeps = summary["action"] == "keep"
        return "Deployed tree", "Kept tree" if keeps else "Proposed tree"
    return ("", "Chosen tree") if summary["kind"] == "stable" else ("Old tree", "New tree")


def drawn_content(summary: Summary) -> dict[str, Any]:
    """Return what the drawings and the page's script need, beside the summary."""
    diff, names = diff_of(summary), names_of(summary)
    classes, positive = diff["classes"], diff["positive"]
    risk = "Prediction"
    if positive is not None:
        risk = f"Risk of {PAGE.name(positive)}"
    return {
        "classes": None if classes is None else [PAGE.name(c) for c in classes],
        "positive": None if positive is None else classes.index(positive),
        "risk": risk,
        "trees": {
            side: None if diff["trees"][side] is None else _tree(diff, side, name)
            for side, name in zip(("old", "new"), names, strict=True)
        },
        "frontier": _frontier(summary),
    }


def _tree(diff: Summary, side: str, name: str) -> dict[str, Any]:
    """Return what stands at the leaves, and which branches to fold: of changed rules none."""
    tree = diff["trees"][side]
    n = len(tree["left"])
    predicted: list[Any] = [None if left >= 0 else {"words": "–"} for left in tree["left"]]
    observed: list[Any] = [None] * n
    share: list[Any] = [None] * n
    against, changed = [], set()
    for row in diff["rules"]:
        if (rule := row[side]) is None:
            continue
        leaf = rule["leaf"]
        predicted[leaf], observed[leaf] = rule["predicted"], rule["trained_on"]
        if rule["rows"] is not None:
            share[leaf] = {"words": people_words(rule["rows"], "share")}
        if rule["kept"]:
            against.append(leaf)
        if row["status"] != "kept":
            changed.add(leaf)
    folded = fold_nodes(tree["left"], tree["right"], MAX_DRAWN_RULES, important=changed)
    return {
        "name": name,
        "predicted": predicted,
        "observed": observed,
        "share": share,
        "against": against,
        "folded": sorted(folded),
    }


def _frontier(summary: Summary) -> dict[str, Any] | None:
    """Say what the candidates are measured by; None where there are none."""
    if "candidates" not in summary:
        return None
    chosen = [i for i, one in enumerate(summary["candidates"]) if one["chosen"]]
    if summary["kind"] == "stable":
        return {
            "chosen": chosen[0],
            "measure": "distance",
            "base_name": "the chosen tree",
            "distance_name": "Mean distance to the first collection of trees",
            "score_name": "Score used for choosing",
            "objectives": "a smaller distance and a better score",
        }
    return {
        "chosen": chosen[0],
        "measure": "dissimilarity",
        "base_name": "the deployed tree",
        "distance_name": "Dissimilarity to the deployed tree",
        "score_name": f"{summary['performance']['score']} on the new rows",
        "objectives": "less change and a better score",
    }


# -- the head --------------------------------------------------------------------------


def _title(kind: str, told: Explanation | None) -> str:
    if told is not None:
        return told.headline.removesuffix(".")
    if kind == "stable":
        return "A stable decision tree"
    return "What changed between two decision trees"


def _lines(summary: Summary, told: Explanation | None) -> list[str]:
    """Sentences below the heading; the facts count the people concerned."""
    diff = diff_of(summary)
    if told is not None:
        # What counts as a changed prediction is said nowhere else on the page.
        affected = told.affected if diff["task"] == "regression" else ""
        first = (told.one_decision, told.changes, affected)
        return [*first, told.better, told.forgone, told.test, told.warnings]
    if summary["kind"] == "stable":
        best = sum(one["on_frontier"] for one in summary["candidates"])
        return [
            f"One tree was chosen among {len(summary['candidates']):,} candidates; "
            f"{best:,} of them offer a trade-off that no other one beats."
        ]
    if diff["unchanged"]:
        return ["The new tree has the same rules as the old one."]
    line = f"The new tree differs from the old one: of the rules, {_counts(diff)}."
    for verb, which in (("now uses", "gained"), ("no longer uses", "lost")):
        if names := diff["predictors"][which]:
            line += f" It {verb} {', '.join(map(PAGE.name, names))}."
    return [line]


def _counts(diff: Summary, *, kept: bool = True) -> str:
    counted = {s: diff["counts"][s] for s in STATUS_LETTERS if kept or s != "kept"}
    return ", ".join(f"{count} {status}" for status, count in counted.items() if count)


def _facts(summary: Summary, diff: Summary) -> Iterator[Fact]:
    digits = 0 if summary["published"] else None
    if summary["kind"] == "stable":
        detail = f"to the trees of the first collection; distance {summary['distance']:.2f}"
        share = PAGE.percent(summary["dissimilarity"], digits)
        yield "Mean dissimilarity", share, detail
        yield _chosen_score(summary)
        tree = diff["trees"]["new"]
        yield "Rules", str(tree["n_rules"]), f"depth {tree['depth']}"
        return
    scale = "0\u202f% means the same rules; trees that share no feature are at about 80\u202f%"
    yield "Dissimilarity", PAGE.percent(diff["dissimilarity"], digits), scale
    counts = diff["counts"]
    others = _counts(diff, kept=False) or "none moved, relabelled, added or dropped"
    yield "Rules kept", f"{counts['kept']} of {counts['old_rules']}", others
    happened = {"Decisions that change": diff["flips"]}
    rows = "rows"
    if summary["kind"] == "retraining":
        yield from _score_fact(summary)
        affected = summary["affected"]
        happened, rows = {"Decisions that change": affected["flips"]}, "new rows"
        if diff["task"] == "classification":
            risk = drawn_content(summary)["risk"]
            happened[f"{risk} moves over 5 points"] = affected["moved"]["5"]
    for label, cell in happened.items():
        if cell is not None:
            share, count = (people_words(cell, form) for form in ("share", "of"))
            yield label, share, f"{count} {rows}"


def _score_fact(summary: Summary) -> Iterator[Fact]:
    """Score of the proposal and of the deployed tree, as on the frontier."""
    scores, gains = summary["performance"], {gain["of"]: gain for gain in summary["gains"]}
    known = all(scores[key]["score"] is not None for key in ("deployed", "proposal"))
    # Of too few events no improvement is claimed: the table has its intervals.
    if not known or summary["confidence"] == TOO_FEW:
        return
    name, after = scores["score"], scores["proposal"]["words"]
    gain = gains.get("score")
    if summary["action"] == "keep" or gain is None or gain["gain"]["change"] is None:
        yield name, after, "on the new rows"
    elif gain["direction"] == "unchanged":
        yield name, after, "unchanged"
    else:
        yield name, f"{scores['deployed']['words']} → {after}", f"change {gain['gain']['words']}"


def _chosen_score(summary: Summary) -> Fact:
    """Score of the choosing as a whole where it was estimated, else the one chosen by."""
    estimate, chosen_by = summary["estimate"], summary["chosen_by"]["words"]
    if estimate is None:
        return "Score", chosen_by, "on the rows used for choosing: it flatters"
    return "Score", estimate["words"], f"estimate, with its standard error; chosen by {chosen_by}"


def _test(summary: Summary) -> dict[str, Any]:
    """Scores on rows that nothing was trained or chosen on, a row per tree."""
    test, (old, new) = summary["test"], names_of(summary)
    named = {"deployed": old, "proposal": new}
    words = {"brier": "Brier score", "cost": "Cost of a decision"}
    extra = [key for key in words if test["trees"][0][key] is not None]
    few = "too few events" if diff_of(summary)["task"] == "classification" else "too few rows"
    rows = []
    for i, row in enumerate(test["trees"]):
        moved = few if not test["measured"] else row["change"]["words"]
        if row["unchanged"] and test["measured"]:
            moved = "unchanged"
        first = named.get(row["name"], row["name"].capitalize())
        cells = [row["score"]["words"], moved if i else "–", row["flips"]["words"]]
        rows.append([first, *cells, *(f"{row[key]:.4f}" for key in extra)])
    heads = ["Tree", summary["performance"]["score"], "Change", "Decisions that change"]
    return {"heads": [*heads, *(words[key] for key in extra)], "rows": rows}


# -- where the page comes from ---------------------------------------------------------


def _provenance(summary: Summary, diff: Summary) -> Iterator[tuple[str, str]]:
    """Lines of the table: data and trees, settings, and when and with what it was written."""
    kind, published = summary["kind"], summary["published"]
    if kind == "retraining":
        data, affected = summary["data"], summary["affected"]
        yield "New data", f"{affected['n']['words']} rows × {data['columns']:,} columns"
    for side, name in zip(("old", "new"), names_of(summary), strict=True):
        if (tree := diff["trees"][side]) is not None:
            yield name, f"{tree['n_rules']} rules, depth {tree['depth']}"
    if not published and kind == "retraining":
        drift = "not tested: no old rows were given"
        if summary["drift"] is not None:
            found = "found: the new rows no longer follow the old ones"
            drift = found if summary["drift"]["detected"] else "none found"
        yield "Drift", drift
    yield "Feature space", f"{len(diff['features'])} features"
    if kind != "retraining" and not published and diff["n_rows"] is not None:
        yield "Rows counted", diff["n_rows"]["words"]
    for name, value in summary.get("settings", {}).items():
        if name != _ELSEWHERE:
            yield name.replace("_", " ").capitalize(), _setting_words(value)
    yield "Report made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    versions = {"Python" if k == "python" else k: v for k, v in diff["versions"].items()}
    yield "Versions", ", ".join(f"{name} {version}" for name, version in versions.items())


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def _setting_words(value: Any) -> str:
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {entry!r}" for name, entry in value.items())
    return str(value)
