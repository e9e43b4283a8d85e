"""Retrain a deployed tree: change least, lose nothing, say what changed."""

from __future__ import annotations

from steadytree.evaluation.gates import GateCheck, GateResult, check_gates
from steadytree.retraining.certificate.statement import Certificate, CertificateOptions
from steadytree.retraining.history import History
from steadytree.retraining.result import Retraining
from steadytree.retraining.retrain import retrain
from steadytree.retraining.search_options import SearchOptions
from steadytree.retraining.sequence import TreeSequence, retrain_sequence

__all__ = [
    "Certificate",
    "CertificateOptions",
    "GateCheck",
    "GateResult",
    "History",
    "Retraining",
    "SearchOptions",
    "TreeSequence",
    "check_gates",
    "retrain",
    "retrain_sequence",
]
