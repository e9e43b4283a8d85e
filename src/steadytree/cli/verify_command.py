"""``steadytree verify``: whether a folder that ``--out`` wrote is one whole run."""

from __future__ import annotations

from pathlib import Path

import click

from steadytree._text import one_line
from steadytree.cli.options import FILE, common_options, example
from steadytree.cli.output import Output
from steadytree.cli.run_folder import MANIFEST, problems_of, read_manifest
from steadytree.exceptions import PlanError


@click.command("verify", epilog=example("steadytree verify proposal && deploy proposal/tree.json"))
@click.argument("folder", type=FILE)
@common_options
def command(folder: Path, as_json: bool, seed: int, quiet: bool, verbose: bool) -> int:
    """Check that FOLDER holds one whole run: every file as its manifest.json says.

    Ends with code 3 where it does not, and where the plan of the run did not hold.
    """
    output = Output("verify", as_json=as_json, verbosity=verbose - quiet)
    problems = problems_of(folder)
    manifest = read_manifest(folder) or {}
    files = list(manifest["files"])
    accepted = bool(manifest.get("accepted"))
    held = accepted and not problems
    ran = f"{one_line(manifest['command'])} of {one_line(manifest['finished'])}"
    shown = one_line(folder)
    lines = [f"{shown}: {len(files)} file{'' if len(files) == 1 else 's'} of one run ({ran})"]
    if problems:
        lines = [f"{shown}: not one whole run ({ran})", *(f"  {p}" for p in problems)]
    elif not accepted:
        lines.append(f"  it ended with code {manifest['exit_code']}: its plan did not hold")
    code = 0 if held else PlanError.exit_code
    document = {
        "folder": str(folder),
        "whole": not problems,
        "accepted": accepted,
        "problems": problems,
        MANIFEST.removesuffix(".json"): manifest,
    }
    output.result("\n".join(lines), document, exit_code=code)
    return code
