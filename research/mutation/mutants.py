"""The faults: every small change of a module that its tests should notice.

A mutant is one change of one expression or statement: another comparison, a number one off, a
condition turned round, a statement left out. What nobody promises is left alone: docstrings,
annotations, decorators, ``__all__``, assertions, the words of errors and warnings, and options
that change speed but no result.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

# Longer expressions are told by their beginning.
CONTEXT = 100
# Longer texts are explanations for people, not names that something depends on.
SENTENCE = 60

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES = {"min": "max", "any": "all", "minimum": "maximum", "floor": "ceil", "first": "last"}
OPPOSITES |= {
    "nanmin": "nanmax",
    "fmin": "fmax",
    "argmin": "argmax",
    "idxmin": "idxmax",
    "logical_and": "logical_or",
    "zeros": "ones",
    "cummin": "cummax",
}
OPPOSITES |= {there: here for here, there in OPPOSITES.items()}
SYMMETRIC = {"min", "max", "minimum", "maximum", "array_equal", "intersect1d", "union1d"}
# Checks that cannot fail, what a warning points at, and what changes speed alone.
IDLE_KEYWORDS = {"strict", "stacklevel", "nogil", "cache", "inline", "copy", "fastmath"}
IDLE_KEYWORDS |= {"no_cpython_wrapper", "no_cfunc_wrapper"}


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    ``name`` says where and what, without line numbers: it stays the same when something else
    in the file changes. ``index`` finds the change again in the same source.
    """

    name: str
    lines: range  # of the statement, or of the head of a block
    index: int
    everywhere: bool  # runs at import: no single test reaches it


def mutants_of(source: str) -> list[Mutant]:
    """Return every mutant of a module, in the order of its source."""
    found: list[Mutant] = []
    seen: Counter[str] = Counter()
    for index, change in enumerate(_Changes(ast.parse(source)).all()):
        name = change.name()
        seen[name] += 1
        if seen[name] > 1:
            name += f" ({seen[name]})"
        found.append(Mutant(name, change.lines(), index, change.everywhere))
    return found


def sample_of(mutants: list[Mutant], count: int | None, seed: str) -> list[Mutant]:
    """Draw mutants at random, by their names: an edit elsewhere does not draw others."""
    if count is None:
        return mutants
    drawn = sorted(mutants, key=lambda m: hashlib.sha256(f"{seed}:{m.name}".encode()).digest())
    return sorted(drawn[:count], key=lambda m: m.index)


def compiled(source: str, mutant: Mutant, filename: str) -> CodeType:
    """Compile a module with one change."""
    tree = ast.parse(source)
    for index, change in enumerate(_Changes(tree).all()):
        if index == mutant.index:
            change.make()
            return compile(ast.fix_missing_locations(tree), filename, "exec")
    raise LookupError(mutant.name)


@dataclass
class _Change:
    """A node that another one takes the place of."""

    node: Any
    new: Any
    holder: Any
    field: str
    position: int | None
    above: list[Any]  # from the module down to the holder
    scope: str
    everywhere: bool

    def make(self) -> None:
        self._put(self.new)

    def _put(self, node: Any) -> None:
        if self.position is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.position] = node

    def lines(self) -> range:
        statement = [n for n in (*self.above, self.node) if isinstance(n, ast.stmt)][-1]
        body = getattr(statement, "body", None)
        end = body[0].lineno if body else (statement.end_lineno or statement.lineno) + 1
        return range(statement.lineno, max(end, statement.lineno + 1))

    def name(self) -> str:
        """Scope, then the change within as much as fits on a line."""
        context = self.node
        for node in reversed(self.above):
            if not isinstance(node, (ast.expr, ast.keyword, ast.comprehension, ast.stmt)):
                continue
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If)):
                break
            if isinstance(node, (ast.With, ast.Try)) or len(ast.unparse(node)) > CONTEXT:
                break
            context = node
        before = ast.unparse(context)
        if context is self.node:
            after = ast.unparse(self.new)
        else:
            self._put(self.new)
            after = ast.unparse(context)
            self._put(self.node)
        return f"{self.scope}: {_one_line(before)} -> {_one_line(after)}"


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= CONTEXT + 40 else text[: CONTEXT + 40] + " ..."


class _Changes:
    """Walks a module and tells every change."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    def all(self) -> Iterator[_Change]:
        yield from self._inside(self.tree, [], (), False)

    def _inside(
        self, holder: Any, above: list[Any], scope: tuple[str, ...], called: bool
    ) -> Iterator[_Change]:
        above = [*above, holder]
        for field, held in ast.iter_fields(holder):
            if _left_alone(holder, field):
                continue
            many = isinstance(held, list)
            for position, node in enumerate(held if many else [held]):
                if not isinstance(node, ast.AST) or _without_changes(node, holder, above):
                    continue
                inner, runs = scope, called
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    inner = (*scope, node.name)
                if isinstance(holder, ast.FunctionDef) and field == "body":
                    runs = True
                for new in _replacements(node, holder, field):
                    yield _Change(
                        node,
                        new,
                        holder,
                        field,
                        position if many else None,
                        above,
                        ".".join(scope) or "<module>",
                        not runs,
                    )
                if not isinstance(node, (ast.Raise, ast.Assert)) and not _warns(node):
                    yield from self._inside(node, above, inner, runs)


def _left_alone(holder: Any, field: str) -> bool:
    if field in ("annotation", "returns", "decorator_list", "type_params", "format_spec", "ctx"):
        return True
    return isinstance(holder, ast.ClassDef) and field == "bases"


def _without_changes(node: Any, holder: Any, above: list[Any]) -> bool:
    """Whether a node and all below it are left alone."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # docstrings and texts below attributes
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.keyword) and node.arg in IDLE_KEYWORDS:
        return True
    if isinstance(node, ast.Assign) and len(above) == 1:
        # The list of public names, and names for types.
        return ast.unparse(node.targets[0]) == "__all__" or _is_a_type(node.value)
    if isinstance(node, ast.Subscript) and _is_a_type(node) and isinstance(holder, ast.Call):
        return True  # list[int]()
    return isinstance(holder, ast.JoinedStr) and isinstance(node, ast.Constant)


def _is_a_type(node: Any) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return True
    names = {"dict", "list", "tuple", "set", "Callable", "NDArray", "Mapping", "Sequence"}
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    )


def _warns(node: Any) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in ("warnings.warn", "warn")
    )


def _replacements(node: Any, holder: Any, field: str) -> Iterator[Any]:
    if isinstance(node, ast.expr):
        yield from _other_expressions(node, holder, field)
    elif isinstance(node, ast.stmt):
        yield from _other_statements(node)


def _changed(node: Any, **fields: Any) -> Any:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _other_expressions(node: Any, holder: Any, field: str) -> Iterator[Any]:
    match node:
        case ast.Compare(ops=ops):
            for k, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield _changed(node, ops=[*ops[:k], other(), *ops[k + 1 :]])
        case ast.BinOp(op=op) if type(op) in OPERATORS and not _is_text(node.left):
            yield _changed(node, op=OPERATORS[type(op)]())
        case ast.BoolOp(op=op):
            yield _changed(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield node.operand
        case ast.Constant(value=bool() as value):
            yield ast.copy_location(ast.Constant(not value), node)
        case ast.Constant(value=int() as value):
            yield ast.copy_location(ast.Constant(value + 1), node)
            if value:
                yield ast.copy_location(ast.Constant(value - 1), node)
        case ast.Constant(value=float() as value):
            yield ast.copy_location(ast.Constant(value + 1.0), node)
            if value not in (0.0, 1.0):
                yield ast.copy_location(ast.Constant(value * 1.01), node)
        case ast.Constant(value=str() as value) if len(value) < SENTENCE:
            yield ast.copy_location(ast.Constant(f"X{value}"), node)
        case ast.Call(func=func, args=args):
            match func:
                case ast.Name(id=name) if name in OPPOSITES:
                    yield _changed(node, func=_changed(func, id=OPPOSITES[name]))
                case ast.Attribute(attr=name) if name in OPPOSITES:
                    yield _changed(node, func=_changed(func, attr=OPPOSITES[name]))
            if len(args) >= 2 and _order_matters(func, args[0], args[1]):
                yield _changed(node, args=[args[1], args[0], *args[2:]])
    # Conditions that are no comparison are turned round here.
    is_condition = field == "test" or (isinstance(holder, ast.comprehension) and field == "ifs")
    if is_condition and not isinstance(node, (ast.Compare, ast.UnaryOp, ast.BoolOp)):
        yield ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _order_matters(func: Any, first: Any, second: Any) -> bool:
    if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
        return False
    if ast.unparse(func).split(".")[-1] in SYMMETRIC:
        return False
    return ast.unparse(first) != ast.unparse(second)


def _is_text(node: Any) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _other_statements(node: Any) -> Iterator[Any]:
    nothing = ast.copy_location(ast.Pass(), node)
    match node:
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield _changed(node, value=ast.copy_location(ast.Constant(None), node))
        case ast.AugAssign(op=op):
            if type(op) in OPERATORS:
                yield _changed(node, op=OPERATORS[type(op)]())
            yield nothing
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield nothing
        case ast.Expr(value=ast.Call()):
            yield nothing
        case ast.Raise():
            yield nothing
        case ast.Continue():
            yield ast.copy_location(ast.Break(), node)
        case ast.Break():
            yield ast.copy_location(ast.Continue(), node)
