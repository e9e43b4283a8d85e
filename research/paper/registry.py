"""Which experiments there are, and which pieces of work each of them needs.

An *experiment* is what a reader asks for (a table, a figure); a *kind* is a piece of work on one
data set and split. Several experiments read the same kind: it is computed once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from research.paper.data import CASE_STUDIES, TIME_ORDERED
from research.paper.experiments import (
    batch,
    example,
    perturbation,
    propositions,
    retraining,
    study,
)
from research.paper.jobs import Job
from research.paper.provenance import code_digest, package_versions
from research.paper.settings import PROTOCOLS, Settings
from steadytree.exceptions import InputError

__all__ = ["EXPERIMENTS", "KINDS", "Experiment", "Kind", "config_of", "find_experiments", "plan"]


@dataclass(frozen=True)
class Kind:
    """A kind of work.

    Attributes
    ----------
    fields : tuple of str
        The settings it depends on.
    datasets, protocols : tuple of str
    count : callable
        Number of splits or repetitions under given settings.
    compute : callable
    cost : float
        Seconds of one unit relative to those of a study, for the time left.
    """

    name: str
    fields: tuple[str, ...]
    datasets: tuple[str, ...]
    protocols: tuple[str, ...]
    count: Callable[[Settings], int]
    compute: Callable[[Job], dict[str, Any]]
    cost: float

    @property
    def code(self) -> str:
        """Digest of the code that its results depend on; results of other code are redone."""
        return code_digest(self.compute.__module__)


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "study",
            study.FIELDS,
            CASE_STUDIES,
            PROTOCOLS,
            lambda s: s.n_splits,
            study.compute,
            1.0,
        ),
        Kind(
            "example",
            example.FIELDS,
            CASE_STUDIES,
            PROTOCOLS,
            lambda s: s.example_splits,
            example.compute,
            0.25,
        ),
        Kind(
            "direct",
            perturbation.DIRECT_FIELDS,
            CASE_STUDIES,
            ("",),
            lambda s: -(-s.perturbations // perturbation.BLOCK),
            perturbation.compute_direct,
            1.1,
        ),
        Kind(
            "indirect",
            perturbation.INDIRECT_FIELDS,
            CASE_STUDIES,
            ("",),
            lambda s: s.replacements,
            perturbation.compute_indirect,
            0.25,
        ),
        Kind(
            "batch",
            batch.FIELDS,
            # The largest collections are affordable where the trees are small.
            ("colon", "nhefs", "wdbc"),
            ("",),
            lambda s: s.batch_splits,
            batch.compute,
            4.0,
        ),
        Kind(
            "propositions",
            propositions.FIELDS,
            CASE_STUDIES,
            ("",),
            lambda s: s.n_detailed,
            propositions.compute,
            0.4,
        ),
        Kind(
            "retraining",
            retraining.FIELDS,
            TIME_ORDERED,
            ("",),
            lambda s: s.retraining_repeats,
            retraining.compute,
            0.8,
        ),
    )
}


@dataclass(frozen=True)
class Experiment:
    """What a reader can ask for by name.

    Attributes
    ----------
    title : str
    where : str
        Place in the paper; empty for what goes beyond it.
    kinds : tuple of str
        The work it needs; none for the table of data sets.
    """

    name: str
    title: str
    where: str
    kinds: tuple[str, ...]


EXPERIMENTS = {
    name: Experiment(name, title, where, kinds)
    for name, title, where, kinds in (
        ("datasets", "The data sets", "Table 2", ()),
        (
            "example",
            "Retraining on half and on all of the data",
            "Section 2.5, Figure 1",
            ("example",),
        ),
        ("direct", "Sensitivity to moved thresholds", "Appendix B, Figure 8", ("direct",)),
        ("indirect", "Sensitivity to replaced rows", "Appendix B, Figure 8", ("indirect",)),
        ("frontiers", "Pareto frontiers", "Section 3.2, Figure 2", ("study",)),
        ("frontier-sizes", "Sizes of the Pareto frontiers", "Section 3.2, Figure 3", ("study",)),
        ("accuracy", "AUC of four methods", "Section 3.3, Figure 4", ("study",)),
        (
            "distances",
            "Mean distance from the first batch",
            "Section 3.3, Figure 4 right",
            ("study",),
        ),
        ("interpretability", "Depth and number of nodes", "Section 3.4, Figure 5", ("study",)),
        ("importances", "Spread of feature importances", "Section 3.5, Figure 6", ("study",)),
        ("takeaways", "Main takeaways", "Section 3.6, Table 1", ("study",)),
        (
            "balanced",
            "The rule that weighs stability and AUC alike",
            "Section 3.1, after eq. (select-tree)",
            ("study",),
        ),
        (
            "first-levels",
            "First two levels of the selected trees",
            "Section 4.2, Figure 7",
            ("study",),
        ),
        ("split-frequencies", "Most frequent first splits", "Section 4.2, Table 3", ("study",)),
        ("optimism", "What choosing and reporting on the same rows adds", "", ("study",)),
        (
            "propositions",
            "What is proved about the distance",
            "Section 2.4, Corollary 1 and Proposition 2",
            ("propositions",),
        ),
        ("triangle", "Violations of the triangle inequality", "", ("study",)),
        ("label-weight", "Effect of the label weight", "", ("study",)),
        ("normaliser", "Effect of the normaliser", "", ("study",)),
        ("collection-size", "Effect of the number of trees", "", ("batch",)),
        ("size", "How much of “stable” is “small”", "", ("study",)),
        ("retraining", "Retraining on data with a real time order", "", ("retraining",)),
    )
}


def find_experiments(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Experiments by name, all of them where none is named; in the order of the page."""
    for name in names:
        if name not in EXPERIMENTS:
            close = difflib.get_close_matches(name.lower(), EXPERIMENTS, n=1)
            hint = (
                f"did you mean {close[0]!r}?" if close else "see `python -m research.paper --list`"
            )
            raise InputError(f"expected one of {', '.join(EXPERIMENTS)}, got {name!r}; {hint}")
    return tuple(e for e in EXPERIMENTS.values() if not names or e.name in names)


def plan(
    experiments: Sequence[Experiment],
    datasets: Sequence[str],
    settings: Settings,
    seed: int,
) -> list[Job]:
    """All work that the experiments need on the data sets, each piece once."""
    wanted = {kind for experiment in experiments for kind in experiment.kinds}
    return [
        Job(kind.name, dataset, protocol, index, seed, settings)
        for kind in KINDS.values()
        if kind.name in wanted
        for dataset in kind.datasets
        if dataset in datasets
        for protocol in kind.protocols
        for index in range(kind.count(settings))
    ]


def config_of(job: Job) -> dict[str, Any]:
    """All that a result depends on: it is stored under the digest of this."""
    kind = KINDS[job.kind]
    values = asdict(job.settings)
    return {
        "kind": job.kind,
        "code": kind.code,
        "packages": package_versions(),
        "dataset": job.dataset,
        "protocol": job.protocol,
        "index": job.index,
        "seed": job.seed,
        "settings": {name: values[name] for name in kind.fields},
    }
