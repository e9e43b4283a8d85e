"""Freeze again: ``python -m tests.frozen [CASE ...]``, all cases by default.

Results may change on purpose only: say in the commit which, and why.
"""

from __future__ import annotations

import json
import sys
import time

from tests.frozen.cases import CASES, RESULTS, make, needs, path_of, versions_of


def main(names: list[str]) -> None:
    """Compute the cases and write their files."""
    if unknown := sorted(set(names) - set(CASES)):
        raise SystemExit(f"expected cases of {', '.join(CASES)}, got {', '.join(unknown)}")
    RESULTS.mkdir(exist_ok=True)
    for name in names or CASES:
        start = time.perf_counter()
        files = make(name)
        changed = [
            part
            for part, text in files.items()
            if not path_of(name, part).exists() or path_of(name, part).read_text("utf-8") != text
        ]
        for part in changed:
            path_of(name, part).write_text(files[part], encoding="utf-8")
        seconds = time.perf_counter() - start
        print(f"{name}: {seconds:.1f} s; {', '.join(changed) or 'nothing'} changed")
    if not names:
        everything = sorted({library for name in CASES for library in needs(name)})
        text = json.dumps(versions_of(everything), indent=1)
        (RESULTS / "made_with.json").write_text(text + "\n", encoding="utf-8")
        expected = {path_of(name, part) for name in CASES for part in ("facts", "words", "pages")}
        for path in RESULTS.glob("*.*.json"):
            if path not in expected:
                path.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
