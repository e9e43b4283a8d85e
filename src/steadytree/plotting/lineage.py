"""How far each version of a deployed tree moved."""

from __future__ import annotations

from typing import Any

import pandas as pd

from steadytree._optional import import_optional

__all__ = ["draw_versions"]


def draw_versions(frame: pd.DataFrame, *, score: str | None = None, ax: Any = None) -> Any:
    """Draw the dissimilarity of each version to the one before and to the first.

    Parameters
    ----------
    frame : DataFrame
        ``History.versions``.
    score : str, optional
        Name of a recorded score to draw as well, on an axis of its own.
    ax : matplotlib axes, optional
        By default a new figure.

    Returns
    -------
    matplotlib axes
    """
    plt = import_optional("matplotlib.pyplot", extra="plot", purpose="History.plot")
    if ax is None:
        _, ax = plt.subplots()
    for name, label, marker in (
        ("dissimilarity_to_first", "to the first version", "o"),
        ("dissimilarity_to_previous", "to the version before", "s"),
    ):
        values = 100 * frame[name].fillna(0.0)
        ax.plot(frame.index, values, marker=marker, label=label)
    for status, marker in (("rejected", "x"), ("refused", "+")):
        concerned = frame.index[frame["status"] == status]
        if len(concerned):
            heights = 100 * frame.loc[concerned, "dissimilarity_to_first"].fillna(0.0)
            ax.scatter(concerned, heights, marker=marker, s=90, color="black", label=status)
    ax.set(xlabel="version", ylabel="dissimilarity (%)", ylim=(0, None), xticks=frame.index)
    if score is not None:
        other = ax.twinx()
        other.plot(frame.index, frame[f"score_{score}"], color="grey", linestyle=":", label=score)
        other.set_ylabel(score)
    ax.legend()
    return ax
