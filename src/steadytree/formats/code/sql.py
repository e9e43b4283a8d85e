"""Write a tree as SQL, so that a warehouse decides as the tree does, missing values included.

One ``CASE`` holds the tree as rules of which the first that holds decides: no nesting, which
databases limit, and few conditions each. Where missing values go is said everywhere; NaN counts
as missing where a dialect tells it from NULL. Numbers are doubles: ``50.5e0``, as ``50.5`` is a
decimal to many. sqlglot writes the dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steadytree.formats.code.parts import (
    Rule,
    Side,
    category_kind,
    check_classes,
    decision_list,
    head_words,
    is_plain_decimal,
    number,
    refuse_text,
)
from steadytree.plugins import InputError, Tree, import_optional, quoted

SUFFIXES = (".sql",)

# Dialects in which a double can be NaN, and how they ask for it. All others have no NaN.
_ASKS_EQUAL = {"postgres", "redshift", "materialize", "risingwave", "snowflake"}
_ASKS_FUNCTION = {
    *("bigquery", "duckdb", "trino", "presto", "athena", "clickhouse"),
    *("spark", "spark2", "databricks"),
}
# Dialects whose plain text has a code page: other characters need N'...'.
_CODE_PAGES = {"tsql", "fabric"}
# Dialects to which 50.5e0 is a decimal: it is cast.
_DECIMALS = {"postgres", "redshift", "materialize", "risingwave", "snowflake", "oracle"}


def write(
    tree: Tree,
    *,
    dialect: str | None = None,
    columns: Mapping[str, str] | None = None,
    table: str | None = None,
    what: str | None = None,
    of_class: Any = None,
    prefix: str = "",
) -> str:
    """Write a query over a table, or without a table one ``CASE`` expression.

    Text is compared as the database compares it: with a collation that ignores case (as MySQL
    and SQL Server have by default) "Red" is "red". Names are quoted, so that they mean what they
    say: a column that Snowflake or Oracle made ``AGE`` of, when it was created as ``age``, is named
    in ``columns``.

    Parameters
    ----------
    tree : Tree
    dialect : str, optional
        As sqlglot names it: "duckdb", "postgres", "bigquery", "snowflake", "sqlite", "tsql" ...
        By default plain SQL, which knows no NaN beside NULL.
    columns : mapping, optional
        The column of a feature, where it has another name.
    table : str, optional
        The table to score: ``"sales.customers"``. The query returns its columns, the number of
        the leaf (as :meth:`Tree.apply` gives it), and "label" and "share_<class>", or "value".
    what : {"label", "share", "value", "leaf"}, optional
        Of an expression: what it gives; by default the label, or the response.
    of_class : optional
        The class whose share it gives; by default the positive one of two.
    prefix : str, default ""
        Put before the names of the new columns.

    Returns
    -------
    str
    """
    sqlglot = import_optional("sqlglot", purpose="writing SQL", extra="sql")
    writer = _Writer(sqlglot, tree, dialect, columns)
    if table is None:
        return writer.text(writer.expression(what, of_class)) + "\n"
    if what is not None or of_class is not None:
        raise InputError(
            "expected what= and of_class= for an expression, got a table too; leave one out"
        )
    return writer.text(writer.query(table, prefix), ending=";") + "\n"


class _Writer:
    """One tree in one dialect."""

    def __init__(
        self, sqlglot: Any, tree: Tree, dialect: str | None, columns: Mapping[str, str] | None
    ) -> None:
        self.exp, self.sqlglot, self.tree = sqlglot.exp, sqlglot, tree
        self.dialect = "" if dialect is None else str(dialect).lower()
        known = [d.value for d in sqlglot.Dialects if d.value]
        if self.dialect and self.dialect not in known:
            raise InputError(f"expected a dialect of {', '.join(known)}, got {dialect!r}")
        self.columns = dict(columns or {})
        strange = sorted(set(self.columns) - set(tree.feature_labels))
        if strange:
            raise InputError(
                f"expected features of the tree in columns, got {strange}; they are "
                f"{quoted(list(tree.feature_labels))}"
            )
        check_classes(tree)
        refuse_text([*tree.feature_labels, *self.columns.values(), *(tree.classes or ())], "SQL")
        self.kinds: dict[int, str] = {}
        for j in tree.used_features:
            values = tree.categories[j] or ()
            refuse_text(values, "SQL")
            self._check_column(self.column_name(j))
            self.kinds[j] = category_kind(values, f"feature {tree.feature_labels[j]!r}", "SQL")
            if self.dialect == "oracle" and "" in values:
                raise InputError(
                    f"expected categories that Oracle can hold in feature "
                    f"{tree.feature_labels[j]!r}, got an empty text, which it takes for NULL; "
                    "rename the category"
                )

    def _check_column(self, name: str) -> None:
        """Refuse a name that the dialect cannot quote, such as one with a dot in BigQuery."""
        written = self._identifier(name).sql(dialect=self.dialect)
        parsed = self.sqlglot.parse_one(written, read=self.dialect)
        if not isinstance(parsed, self.exp.Column) or [p.name for p in parsed.parts] != [name]:
            raise InputError(
                f"expected column names that {self.dialect} can hold, got {name!r}; "
                "name the column of this feature: columns={...}"
            )

    # -- whole texts -------------------------------------------------------------------

    def text(self, expression: Any, ending: str = "") -> str:
        """Write an expression, with a head that says what it is."""
        written = expression.sql(dialect=self.dialect, pretty=True)
        head = "\n".join(f"-- {line}" for line in head_words(self.tree, "A decision tree"))
        return f"{head}\n{written}{ending}"

    def expression(self, what: str | None, of_class: Any) -> Any:
        """Return one ``CASE``."""
        tree = self.tree
        what = what or ("label" if tree.is_classifier else "value")
        fitting = ("label", "share", "leaf") if tree.is_classifier else ("value", "leaf")
        if what not in fitting:
            raise InputError(f"expected what= of {', '.join(fitting)}, got {what!r}")
        at = 0
        if what == "share":
            at = self._position(of_class)
        elif of_class is not None:
            raise InputError(f'expected of_class= with what="share", got what={what!r}')
        return self.rules(lambda leaf: self.answer(what, leaf, at))

    def _position(self, of_class: Any) -> int:
        classes = self.tree.classes or ()
        if of_class is None:
            if len(classes) != 2:
                raise InputError(
                    f"expected of_class=, whose share to give, got none; the classes are "
                    f"{quoted(list(classes))}"
                )
            return self.tree.decision.position
        if of_class not in classes:
            raise InputError(f"expected of_class= of {quoted(list(classes))}, got {of_class!r}")
        return classes.index(of_class)

    def query(self, table: str, prefix: str) -> Any:
        """Return a query: the leaf of each row within, what the leaves say around it."""
        exp, tree = self.exp, self.tree
        leaf = f"{prefix}leaf"
        output = "value" if tree.classes is None else "label"
        named = {f"{prefix}{output}": self.lookup(leaf, output)}
        for k, label in enumerate(tree.classes or ()):
            named[f"{prefix}share_{label}"] = self.lookup(leaf, "share", k)
        clash = sorted({self.column_name(j) for j in tree.used_features} & {leaf, *named})
        if clash:
            raise InputError(
                f"expected new column names, got {clash}, which the table has; pass prefix="
            )
        refuse_text(named, "SQL")
        source = self._table(table)
        star = exp.Column(this=exp.Star(), table=exp.to_identifier("source", quoted=True))
        inner = exp.select(star, self._alias(self.rules(self._leaf), leaf)).from_(
            exp.alias_(source, exp.to_identifier("source", quoted=True), table=True)
        )
        scored = exp.to_identifier("scored", quoted=True)
        kept = exp.Column(this=exp.Star(), table=scored)
        new = (self._alias(expression, name) for name, expression in named.items())
        return exp.select(kept, *new).from_(inner.subquery(scored))

    def _table(self, table: str) -> Any:
        """Return the table of a name; what is no name is quoted, or refused."""
        try:
            parsed = self.exp.to_table(table, dialect=self.dialect)
        except self.sqlglot.errors.SqlglotError:
            parsed = None
        if parsed is None or not all(isinstance(p, self.exp.Identifier) for p in parsed.parts):
            raise InputError(f'expected the name of a table such as "sales.rows", got {table!r}')
        return parsed

    # -- parts -------------------------------------------------------------------------

    def rules(self, answer: Callable[[int], Any]) -> Any:
        """Return the tree as one ``CASE`` with an answer for each leaf."""
        rules = decision_list(self.tree)
        if len(rules) == 1:
            return answer(rules[0].leaf)
        case = self.exp.Case()
        for rule in rules[:-1]:
            case.append("ifs", self.exp.If(this=self._all(rule), true=answer(rule.leaf)))
        case.set("default", answer(rules[-1].leaf))
        return case

    def _all(self, rule: Rule) -> Any:
        conditions = [self.condition(side) for side in rule.sides]
        several = len(conditions) > 1
        wrapped = [
            self.exp.Paren(this=c) if several and isinstance(c, self.exp.Or) else c
            for c in conditions
        ]
        return self._joined(self.exp.And, wrapped)

    def _joined(self, connector: Any, conditions: list[Any]) -> Any:
        test = conditions[0]
        for condition in conditions[1:]:
            test = connector(this=test, expression=condition)
        return test

    def lookup(self, leaf: str, what: str, at: int = 0) -> Any:
        """Return what a leaf says, by its number."""
        leaves = self.tree.leaves.tolist()
        if len(leaves) == 1:
            return self.answer(what, leaves[0], at)
        case = self.exp.Case(this=self._column(leaf))
        for number_ in leaves:
            answer = self.answer(what, number_, at)
            case.append("ifs", self.exp.If(this=self._leaf(number_), true=answer))
        return case

    def _leaf(self, leaf: int) -> Any:
        return self.exp.Literal.number(leaf)

    def answer(self, what: str, leaf: int, at: int = 0) -> Any:
        """Return what a leaf says."""
        tree = self.tree
        if what == "leaf":
            return self._leaf(leaf)
        if what == "label":
            classes = tree.classes or ()
            category_kind(classes, "the classes", "SQL")
            return self.literal(classes[tree.label[leaf]])
        return self.double(float(tree.value[leaf, at]))

    def condition(self, side: Side) -> Any:
        """Return who takes a side, as a condition that is true or else false or unknown."""
        exp, column = self.exp, self._column(self.column_name(side.feature))
        missing = [exp.Is(this=column, expression=exp.Null())]
        missing += self._is_nan(column, side.feature)
        present = [exp.Not(this=m) for m in missing]
        if side.operator == "all":
            if side.missing:
                return self._joined(exp.Or, [missing[0], exp.Not(this=missing[0].copy())])
            return self._joined(exp.And, present)
        if side.operator == "none":
            test = self._joined(exp.Or if side.missing else exp.And, missing)
            return test if side.missing else exp.And(this=test, expression=present[0])
        if side.values:
            test = exp.In(this=column, expressions=[self.literal(v) for v in side.values])
            test = exp.Not(this=test) if side.operator == "not in" else test
        else:
            kind = {"<=": exp.LTE, "<": exp.LT, ">": exp.GT, ">=": exp.GTE}[side.operator]
            test = kind(this=column, expression=self.exact(side.bound))
        if side.missing:
            return self._joined(exp.Or, [*missing, test])
        # NULL makes it unknown; NaN is above every number, or in no order.
        if len(missing) > 1 and side.operator in (">", ">=", "not in"):
            return exp.And(this=present[1], expression=test)
        return test

    def _is_nan(self, column: Any, feature: int) -> list[Any]:
        if self.tree.categories[feature] and self.kinds[feature] != "number":
            return []
        exp = self.exp
        if self.dialect in _ASKS_FUNCTION:
            return [exp.IsNan(this=column)]
        if self.dialect in _ASKS_EQUAL:
            nan = exp.Cast(this=exp.Literal.string("NaN"), to=exp.DataType.build("double"))
            return [exp.EQ(this=column, expression=nan)]
        return []

    # -- names and literals ------------------------------------------------------------

    def column_name(self, feature: int) -> str:
        """Return the column of a feature."""
        name = self.tree.feature_labels[feature]
        return self.columns.get(name, name)

    def _column(self, name: str) -> Any:
        return self.exp.Column(this=self._identifier(name))

    def _alias(self, expression: Any, name: str) -> Any:
        return self.exp.Alias(this=expression, alias=self._identifier(name))

    def _identifier(self, name: str) -> Any:
        return self.exp.Identifier(this=name, quoted=True)

    def literal(self, value: Any) -> Any:
        """Write a category or a class."""
        exp = self.exp
        if isinstance(value, str):
            if self.dialect in _CODE_PAGES and not value.isascii():
                return exp.National(this=value)
            return exp.Literal.string(value)
        if isinstance(value, bool):
            # SQL Server has bits for booleans.
            has_bits = self.dialect in ("tsql", "fabric", "oracle")
            return exp.Literal.number(int(value)) if has_bits else exp.Boolean(this=value)
        return self.exp.Literal.number(value) if isinstance(value, int) else self.double(value)

    def double(self, value: float) -> Any:
        """Write a number as a double."""
        text = number(abs(value))
        # Not by Literal.number, which computes negative ones anew.
        literal = self.exp.Literal(this=text if "e" in text else f"{text}e0", is_string=False)
        if str(value).startswith("-"):
            literal = self.exp.Neg(this=literal)
        if self.dialect in _DECIMALS:
            return self.exp.Cast(this=literal, to=self.exp.DataType.build("double"))
        return literal

    def exact(self, value: float) -> Any:
        """Write a double that is compared with: SQLite reads some decimals one bit off."""
        if self.dialect != "sqlite" or is_plain_decimal(value):
            return self.double(value)
        over, under = value.as_integer_ratio()
        exp = self.exp
        # Powers of two, of which 62 bits fit an integer: nothing is rounded.
        factors = []
        while over and abs(over) >= 2**53:
            power = min((abs(over) & -abs(over)).bit_length() - 1, 62)
            factors.append((exp.Mul, 2**power))
            over //= 2**power
        while under > 1:
            power = min(under.bit_length() - 1, 62)
            factors.append((exp.Div, 2**power))
            under //= 2**power
        test = exp.Cast(this=exp.Literal.number(over), to=exp.DataType.build("double"))
        for kind, factor in factors:
            test = kind(this=test, expression=exp.Literal.number(factor))
        return exp.Paren(this=test)
