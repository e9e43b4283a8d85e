"""What a class of error says of itself."""

from __future__ import annotations

from steadytree import exceptions

__all__ = ["error_facts"]


def error_facts(name: str) -> str:
    """Say when an error is raised, its exit code, and as what else it can be caught."""
    error = getattr(exceptions, name)
    when = " ".join((error.__doc__ or "").split())
    known = [base for base in error.__mro__[1:] if base not in (object, BaseException, Exception)]
    ours = [base.__name__ for base in known if base.__module__ == error.__module__]
    links = [f"[`{base}`](#{base.lower()})" for base in ours]
    others = [f"`{base.__name__}`" for base in known if base.__module__ == "builtins"]
    facts = []
    if code := getattr(error, "exit_code", None):
        facts.append(f"Exit code {code}.")
    if links or others:
        facts.append(f"Also caught as {', '.join(links + others)}.")
    return f"{when}\n\n{' '.join(facts)}"
