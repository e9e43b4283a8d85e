"""``steadytree assess``: how much a learner's trees change when the training rows do."""

from __future__ import annotations

from pathlib import Path

import click

from steadytree.assessment import RESAMPLES, assess_stability
from steadytree.cli.files import OutFolder
from steadytree.cli.learners import make_learner
from steadytree.cli.options import (
    FILE,
    data_options,
    default_of,
    example,
    learner_options,
    output_options,
)
from steadytree.cli.output import Output
from steadytree.cli.tables import read_training

__all__ = ["command"]


@click.command(
    "assess",
    epilog=example("steadytree assess patients.csv --target died --learner cart --resamples 50"),
)
@click.argument("data", type=FILE)
@data_options
@learner_options
@click.option(
    "--resamples",
    type=click.IntRange(2),
    default=default_of(assess_stability, "n_resamples"),
    show_default=True,
    help="Trees to grow.",
)
@click.option(
    "--resample",
    type=click.Choice(RESAMPLES),
    default=default_of(assess_stability, "resample"),
    show_default=True,
    help="How rows are drawn.",
)
@output_options("assess", "assessment.json, summary.csv, splits.csv and cut_points.csv")
def command(
    data: Path,
    target: str,
    time: str | None,
    group: str | None,
    learner: str,
    task: str,
    drop: tuple[str, ...],
    max_leaves: int | None,
    jobs: int | None,
    resamples: int,
    resample: str,
    output: Output,
    folder: OutFolder,
    seed: int,
) -> None:
    """Refit a learner on resamples of DATA (CSV or Parquet) and compare its trees."""
    table, task = read_training(data, target, task, time=time, group=group, drop=drop)
    found = assess_stability(
        make_learner(learner, task, seed=seed, jobs=None, max_leaves=max_leaves),
        table.X,
        table.y,
        n_resamples=resamples,
        resample=resample,
        n_jobs=jobs,
        random_state=seed,
        verbose=0 if output.quiet else 1,
    )
    content = found.to_dict()
    folder.document("assessment.json", content)
    folder.table("summary.csv", found.summary)
    folder.table("splits.csv", found.splits)
    folder.table("cut_points.csv", found.cut_points)
    output.result(str(found), {"task": task, **content, "files": folder.files})
