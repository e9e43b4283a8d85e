"""``steadytree assess``: how much a learner's trees change when the training rows do."""

from __future__ import annotations

import click

from steadytree.cli.fit_command import LearnerChoice, training_options
from steadytree.cli.options import example, option_of, output_options
from steadytree.cli.output import OutFolder, Output
from steadytree.cli.tables import RowTable
from steadytree.estimators.assessment import RESAMPLES, assess_stability


@click.command(
    "assess",
    epilog=example("steadytree assess patients.csv --target died --learner cart --resamples 50"),
)
@training_options
@option_of("--resamples", assess_stability, "n_resamples", "Trees to grow.", type=click.IntRange(2))
@option_of(
    "--resample",
    assess_stability,
    "resample",
    "How rows are drawn.",
    type=click.Choice(RESAMPLES),
)
@output_options("assess", "assessment.json", "summary.csv", "splits.csv", "cut_points.csv")
def command(
    table: RowTable,
    learner: LearnerChoice,
    jobs: int | None,
    resamples: int,
    resample: str,
    output: Output,
    folder: OutFolder,
    seed: int,
) -> None:
    """Refit a learner on resamples of DATA (CSV or Parquet) and compare its trees."""
    output.say(table.read.to_text(everything=output.verbosity > 0))
    found = assess_stability(
        learner.make(seed=seed, jobs=None),
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
    document = {"task": learner.task, "read": table.read.to_dict(), **content}
    folder.finish()
    output.result(str(found), {**document, "files": folder.files})
