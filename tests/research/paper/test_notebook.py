"""The notebook: its cells run as they stand, and its three verdicts are the stored ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from research.paper.regenerate import Regenerated

NOTEBOOK = Path(__file__).parents[3] / "research" / "paper" / "paper.ipynb"
CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


def run_cells(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, Any]:
    monkeypatch.setenv("STEADYTREE_PAPER", str(folder))
    monkeypatch.chdir(NOTEBOOK.parent)  # where Jupyter starts
    names: dict[str, Any] = {}
    with mpl.rc_context({"backend": "agg"}):
        for at, cell in enumerate(CODE):
            exec(compile(cell, f"cell {at}", "exec"), names)
        names["drawn"] = len(plt.get_fignums())
        plt.close("all")
    return names


def test_three_verdicts_by_hand_are_the_stored_ones(
    whole: Regenerated, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = run_cells(monkeypatch, whole.out)
    for table in (names["reduced"], names["frontier"], names["ahead"]):
        assert table.loc["verdict", "by hand"] == table.loc["verdict", "stored"] != ""
    assert names["drawn"] == 2


def test_another_number_is_found_out(
    whole: Regenerated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "results.json").write_bytes((whole.out / "results.json").read_bytes())
    long = (whole.out / "tables" / "observations.csv").read_text().splitlines()
    (at,) = (
        i
        for i, line in enumerate(long)
        if line.startswith("study,colon,Sarcoma tumor,paper,0,pareto_auc,distance_bound,")
    )
    long[at] = long[at].rsplit(",", 1)[0] + ",0.5"
    (tmp_path / "tables" / "observations.csv").write_text("\n".join(long) + "\n")
    with pytest.raises(AssertionError):
        run_cells(monkeypatch, tmp_path)
    plt.close("all")


def test_it_is_kept_without_output() -> None:
    assert len(CODE) >= 6
    for cell in CELLS:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
