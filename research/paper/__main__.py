"""``python -m research.paper``: the paper's experiments again, our numbers beside its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from research.paper.recheck import recheck
from research.paper.regenerate import Regenerated, redraw, regenerate, usable_datasets
from research.paper.registry import EXPERIMENTS, KINDS, find_experiments, plan
from research.paper.runs import Progress
from research.paper.settings import FULL, INFERRED, QUICK, Settings
from research.paper.store import UnitStore
from steadytree.cli.app import run
from steadytree.cli.options import COMMON, FILE, example
from steadytree.cli.output import Output

__all__ = ["command", "main"]

PROGRAM = "python -m research.paper"


@click.command(
    "reproduction",
    epilog=example(f"{PROGRAM} --quick --only frontiers --data wdbc --out paper"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--list", "list_only", is_flag=True, help="List experiments and data sets, and end.")
@click.option("--only", multiple=True, metavar="NAME", help="Only this experiment. Repeat.")
@click.option("--data", multiple=True, metavar="NAME", help="Only this data set. Repeat.")
@click.option("--quick", is_flag=True, help="A few minutes: few trees and splits, 3,000 rows.")
@click.option(
    "--trees",
    type=click.Choice([str(s.trees_per_collection) for s in (FULL, INFERRED)]),
    help="Trees per collection: ours (the default), or what the paper's Table 3 lets infer.",
)
@click.option(
    "--out",
    type=FILE,
    default=Path("steadytree-paper"),
    show_default=True,
    metavar="DIR",
    help="Folder for the page, tables, figures and finished work.",
)
@click.option(
    "--n-jobs",
    "--jobs",
    "n_jobs",
    type=int,
    help="Processes; by default one per core. Results do not depend on it.",
)
@click.option(
    "--redraw",
    "redraw_only",
    is_flag=True,
    help="Compute nothing: make figures, tables and page again from DIR/results.json.",
)
@click.option(
    "--recheck",
    "n_rechecked",
    type=click.IntRange(min=1),
    metavar="N",
    help="Do N finished units again, drawn at random; exit code 1 if one differs.",
)
def command(
    list_only: bool,
    only: tuple[str, ...],
    data: tuple[str, ...],
    quick: bool,
    trees: str | None,
    out: Path,
    n_jobs: int | None,
    redraw_only: bool,
    n_rechecked: int | None,
    as_json: bool,
    seed: int,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run the experiments of "Improving Stability in Decision Tree Models" again.

    Writes one page (index.html, index.md) that puts the paper's number, ours and a verdict
    side by side, with every number as CSV, JSON and LaTeX and every figure as PNG and SVG.
    Interrupted at any point and started again, it redoes only what is missing.
    """
    output = Output("reproduction", as_json=as_json, verbosity=verbose - quiet)
    if list_only:
        _list(output)
        return
    if redraw_only:
        _tell(output, redraw(out))
        return
    settings = _settings(quick, trees)
    if n_rechecked is not None:
        asked = (settings, only, data, seed)
        _recheck(output, out, n_rechecked, *asked, n_jobs=_workers(n_jobs))
        return
    with _progress(output) as report:
        done = regenerate(
            out,
            settings=settings,
            only=only,
            data=data,
            seed=seed,
            n_jobs=_workers(n_jobs),
            command=_command_line(settings, only, data, seed),
            progress=report,
        )
    _tell(output, done)


command.params += COMMON


def _tell(output: Output, done: Regenerated) -> None:
    for note in done.notes:
        output.say(note)
    output.result(_result_text(done), _document(done))


def _recheck(
    output: Output,
    out: Path,
    count: int,
    settings: Settings,
    only: tuple[str, ...],
    data: tuple[str, ...],
    seed: int,
    *,
    n_jobs: int,
) -> None:
    names, _ = usable_datasets(data)
    jobs = plan(find_experiments(only), names, settings, seed)
    with _progress(output) as report:
        found = recheck(jobs, UnitStore(out / "units"), count, n_jobs=n_jobs, progress=report)
    code = 1 if found.differing else 0
    document = {"checked": found.checked, "differing": found.differing}
    output.result(found.summary, document, exit_code=code)
    click.get_current_context().exit(code)


def _workers(n_jobs: int | None) -> int:
    cores = os.cpu_count() or 1
    if n_jobs is None or n_jobs < 0:
        return max(1, cores + 1 + (n_jobs or -1))
    return max(1, n_jobs)


def _settings(quick: bool, trees: str | None) -> Settings:
    if quick and trees is not None:
        raise click.UsageError("expected --quick or --trees, got both: a quick run has few trees")
    if quick:
        return QUICK
    return INFERRED if trees == str(INFERRED.trees_per_collection) else FULL


def _command_line(
    settings: Settings, only: tuple[str, ...], data: tuple[str, ...], seed: int
) -> str:
    """Write the command that gives the same numbers; processes and folder do not matter."""
    words = [PROGRAM, *(["--quick"] if settings is QUICK else [])]
    words += [f"--trees {INFERRED.trees_per_collection}"] if settings is INFERRED else []
    words += [f"--only {name}" for name in only] + [f"--data {name}" for name in data]
    return " ".join([*words, *([f"--seed {seed}"] if seed else [])])


def _list(output: Output) -> None:
    names, notes = usable_datasets()
    experiments = [
        {
            "name": e.name,
            "title": e.title,
            "paper": e.where,
            "datasets": sorted({d for kind in e.kinds for d in KINDS[kind].datasets}),
        }
        for e in EXPERIMENTS.values()
    ]
    width = max(len(e.name) for e in EXPERIMENTS.values())
    lines = ["Experiments (--only NAME):"]
    for e in EXPERIMENTS.values():
        lines.append(f"  {e.name:<{width}}  {e.title} ({e.where or 'beyond the paper'})")
    lines += ["", f"Data sets (--data NAME): {', '.join(names)}"]
    for note in notes:
        output.say(note)
    text = "\n".join(lines)
    output.result(text, {"experiments": experiments, "datasets": names, "notes": notes})


def _result_text(done: Regenerated) -> str:
    page = done.out / "index.html"
    shown = page if page.exists() else done.out / "index.md"
    return f"{done.summary}\nThe page: {shown}"


def _document(done: Regenerated) -> dict[str, object]:
    return {
        "out": str(done.out),
        "page": str(done.out / "index.md"),
        "summary": done.summary,
        "findings": [f.to_dict() for f in done.findings],
        "tables": sorted(done.tables),
        "figures": [c.name for c in done.figures],
        "notes": done.notes,
    }


def _time_text(seconds: float | None) -> str:
    if seconds is None:
        return "time left unknown"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s left" if minutes else f"{rest} s left"


def _left_text(state: Progress) -> str:
    return "done" if state.done == state.total else _time_text(state.seconds_left)


@contextmanager
def _progress(output: Output) -> Iterator[Callable[[Progress], None] | None]:
    """Show work done and time left on standard error: a bar on a terminal, else lines."""
    if output.verbosity < 0:
        yield None
        return
    if not sys.stderr.isatty():
        shown = -1

        def plain(state: Progress) -> None:
            nonlocal shown
            tenth = state.done * 20 // max(state.total, 1)
            if output.verbosity > 0 or tenth > shown or state.done == state.total:
                shown = tenth
                what = f" {state.job.kind} {state.job.dataset}" if state.job else ""
                output.say(
                    f"{state.done}/{state.total} ({state.found} found){what}, {_left_text(state)}"
                )

        yield plain
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, left="")

        def report(state: Progress) -> None:
            what = f"{state.job.kind} {state.job.dataset}" if state.job else "starting"
            bar.update(
                task,
                description=what,
                completed=state.done,
                total=state.total,
                left=_left_text(state),
            )

        yield report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 failed, 2 bad usage or input."""
    return run(arguments, command=command, prog_name=PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
