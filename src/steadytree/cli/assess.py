"""``steadytree assess``: how much a learner's trees change when the training rows do."""

from __future__ import annotations

from pathlib import Path

import click

from steadytree.assessment import RESAMPLES, assess_stability
from steadytree.cli.files import OutFolder
from steadytree.cli.fit import check_target, make_learner
from steadytree.cli.options import (
    FILE,
    common_options,
    data_options,
    example,
    learner_options,
    out_option,
)
from steadytree.cli.output import Output
from steadytree.cli.tables import guess_task, read_labelled

__all__ = ["command"]


@click.command(
    "assess",
    epilog=example("steadytree assess patients.csv --target died --learner cart --resamples 50"),
)
@click.argument("data", type=FILE)
@data_options
@learner_options
@click.option(
    "--resamples", type=click.IntRange(2), default=30, show_default=True, help="Trees to grow."
)
@click.option(
    "--resample",
    type=click.Choice(RESAMPLES),
    default="bootstrap",
    show_default=True,
    help="How rows are drawn.",
)
@out_option("assessment.json, summary.csv, splits.csv and cut_points.csv")
@common_options
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
    out: Path | None,
    as_json: bool,
    seed: int,
    quiet: bool,
    verbose: bool,
) -> None:
    """Refit a learner on resamples of DATA (CSV or Parquet) and compare its trees."""
    output = Output("assess", as_json=as_json, verbosity=verbose - quiet)
    folder = OutFolder(out, output)
    table = read_labelled(data, target, time=time, group=group, drop=drop)
    task = guess_task(table.y, task)
    check_target(table.y)
    found = assess_stability(
        make_learner(learner, task, seed=seed, jobs=None, max_leaves=max_leaves),
        table.X,
        table.y,
        n_resamples=resamples,
        resample=resample,
        n_jobs=jobs,
        random_state=seed,
        verbose=0 if quiet else 1,
    )
    content = found.to_dict()
    folder.document("assessment.json", content)
    folder.table("summary.csv", found.summary)
    folder.table("splits.csv", found.splits)
    folder.table("cut_points.csv", found.cut_points)
    output.result(str(found), {"task": task, **content, "files": folder.files})
