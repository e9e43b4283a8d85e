"""Memory of processes, as Linux tells it."""

from __future__ import annotations

from pathlib import Path


def peak_mebibytes() -> float:
    """Return the most that this process has held so far.

    Not `resource.getrusage`: its peak starts with that of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 2**10


def forget_peak() -> None:
    """Let the peak start anew, from what is held now."""
    Path("/proc/self/clear_refs").write_text("5")


def resident_gibibytes(pid: int) -> float:
    """Return what a process and its descendants hold, shared pages counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return 0.0
    own = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 2**20
    return own + sum(resident_gibibytes(int(child)) for child in children)
