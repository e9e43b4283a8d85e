"""``tree.to_sql()`` and its kin: the formats of :func:`steadytree.export_tree`, by name."""

from __future__ import annotations

import os
from typing import Any

from steadytree._views import export_tree

Path = str | os.PathLike[str] | None


class TreeExports:
    """Methods that write a tree in other systems' formats.

    Each takes a path to write to, or returns what it would write; options are those of the
    format in :func:`steadytree.export_tree`.
    """

    def to_sklearn(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a fitted scikit-learn model.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        estimator, or with ``path`` the path
        """
        return export_tree(self, "sklearn", path, **options)

    def to_onnx(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as an ONNX model.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        model, or with ``path`` the path
        """
        return export_tree(self, "onnx", path, **options)

    def to_pmml(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as PMML 4.4.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "pmml", path, **options)

    def to_sql(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as an SQL ``CASE`` expression.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, such as ``dialect="postgres"``; see
            :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "sql", path, **options)

    def to_python(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a Python function.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "python", path, **options)

    def to_c(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a C function.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "c", path, **options)

    def to_javascript(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a JavaScript function.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "javascript", path, **options)

    def to_r(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as an R function.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "r", path, **options)

    def to_rules(self, path: Path = None, **options: Any) -> Any:
        """Write the tree in words that a person can edit and :func:`as_tree` reads.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "rules", path, **options)

    def to_excel(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as an Excel formula or workbook.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "excel", path, **options)

    def to_dict(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as nested dictionaries.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        dict, or with ``path`` the path
        """
        return export_tree(self, "dict", path, **options)

    def to_markdown(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a Markdown table of rules.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "markdown", path, **options)

    def to_dot(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a Graphviz picture.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "dot", path, **options)

    def to_mermaid(self, path: Path = None, **options: Any) -> Any:
        """Write the tree as a Mermaid picture.

        Parameters
        ----------
        path : path, optional
            Where to write; by default nothing is written.
        **options
            Of the format, see :func:`steadytree.writers.options_of`.

        Returns
        -------
        str, or with ``path`` the path
        """
        return export_tree(self, "mermaid", path, **options)
