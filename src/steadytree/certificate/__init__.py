"""How much better any tree of a stated family could be; nothing else of the package imports it."""

from __future__ import annotations

from steadytree.certificate.certify import Certificate, certify

__all__ = ["Certificate", "certify"]
