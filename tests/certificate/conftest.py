"""The finished retrainings that certificates are asked of."""

from __future__ import annotations

from tests.retraining.conftest import cancer, mixed

__all__ = ["cancer", "mixed"]
