"""What an ad-hoc query may say: one statement that reads, nothing else.

DuckDB's own restrictions are not enough: `WITH x AS (COPY ... TO 'file') SELECT ...` is of type SELECT. So each node of
the parsed statement must be on the lists below; what is new in a later DuckDB is refused until it is added here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeAlias

import duckdb

from hostsight.errors import UsageError, nearest

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

_NODES = frozenset({
    "SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE", "BASE_TABLE",
    "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF",
    "ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER",
    "ORDER_DEFAULT", "ASCENDING", "DESCENDING",
})  # fmt: skip
"""Nodes of queries, of what stands after FROM, of ORDER BY, LIMIT and DISTINCT."""

_EXPRESSIONS = frozenset({
    "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT",
    "FUNCTION", "LAMBDA", "LAMBDA_REF", "OPERATOR", "POSITIONAL_REFERENCE", "STAR", "SUBQUERY",
    "TYPE", "WINDOW",
})  # fmt: skip

_TABLE_FUNCTIONS = frozenset({"generate_series", "json_each", "json_tree", "range", "repeat", "unnest"})

_REFUSED_FUNCTIONS = frozenset({
    "current_query", "current_setting", "currval", "getenv", "getvariable", "nextval",
    "pg_sleep", "setseed", "setval", "sleep_ms", "write_log",
})  # fmt: skip
"""Scalar functions that reach beyond the query's own data, or only wait."""

_CATALOGUES = frozenset({'"tables"', '"databases"', "__show_tables_expanded"})
"""What SHOW TABLES, SHOW DATABASES and SHOW ALL TABLES read."""

_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*EXPLAIN\b\s*(ANALYZE\b)?", re.IGNORECASE | re.DOTALL
)
_ENGINES_OWN = re.compile(r"(?:duckdb|pg|pragma|sqlite)_")
"""How the names of DuckDB's own views begin: WITH may not lend them, since a name that it gives counts everywhere."""
TOO_DEEP = "the query is nested too deeply; take it apart by WITH"
_STATEMENTS = {"MULTI": "PIVOT without an IN list of values"}


def check(connection: duckdb.DuckDBPyConnection, text: str, views: frozenset[str]) -> str:
    """The statement to run, which is `text` itself or an EXPLAIN of a part of it; raises UsageError where it may not run."""
    kind = _only_statement(connection, text)
    if kind == "EXPLAIN":
        return _explained(connection, text, views)
    _check_query(connection, text, kind, views)
    return text


def _only_statement(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """The type of the one statement in `text`."""
    try:
        statements = connection.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(engine_message(error)) from error
    if len(statements) != 1:
        raise UsageError(
            f"the query holds {len(statements)} statements; give exactly one, such as: FROM channels"
        )
    return statements[0].type.name


def _explained(connection: duckdb.DuckDBPyConnection, text: str, views: frozenset[str]) -> str:
    """EXPLAIN is not in the parsed form that is checked, so what it explains is checked alone and put behind it again."""
    found = _EXPLAIN.match(text)
    if found is None:
        raise UsageError("write EXPLAIN or EXPLAIN ANALYZE before a query, without options")
    query = text[found.end() :]
    _check_query(connection, query, _only_statement(connection, query), views)
    return f"EXPLAIN {found[1] or ''} {query}"


def _check_query(connection: duckdb.DuckDBPyConnection, text: str, kind: str, views: frozenset[str]) -> None:
    if kind != "SELECT":
        raise UsageError(_refusal(_STATEMENTS.get(kind, kind.replace("_", " "))))
    tree = _parsed(connection, text)
    known = views | {name.lower() for name in _ctes(tree) if not _ENGINES_OWN.match(name.lower())}
    for node in _nodes(tree):
        _check_node(node, known)


def _parsed(connection: duckdb.DuckDBPyConnection, text: str) -> Json:
    ((serialised,),) = connection.sql("SELECT json_serialize_sql(?::VARCHAR)", params=[text]).fetchall()
    tree: Json = json.loads(serialised)
    if not isinstance(tree, dict) or tree.get("error") or len(_list(tree.get("statements"))) != 1:
        raise UsageError(_refusal("this kind of statement"))
    return tree["statements"]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _nodes(tree: Json) -> Iterator[dict[str, Json]]:
    """Every object of the parsed statement, at any depth."""
    pending = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield value
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _ctes(tree: Json) -> Iterator[str]:
    """Names that WITH gives to a query anywhere in the statement."""
    for node in _nodes(tree):
        ctes = node.get("cte_map")
        if isinstance(ctes, dict):
            for entry in _list(ctes.get("map")):
                if isinstance(entry, dict):
                    yield str(entry.get("key"))
        if node.get("cte_name"):
            yield str(node.get("cte_name"))


def _check_node(node: dict[str, Json], known: frozenset[str]) -> None:
    kind, group = node.get("type"), node.get("class")
    if isinstance(group, str):
        _check_expression(node, group)
    elif isinstance(kind, str) and not kind.endswith("_TYPE_INFO"):
        if kind not in _NODES:
            raise UsageError(_refusal(kind.replace("_QUERY_NODE", "").replace("_", " ")))
        _check_source(node, kind, known)


def _check_expression(node: dict[str, Json], group: str) -> None:
    if group == "PARAMETER":
        raise UsageError("the query holds a parameter ($1 or ?); write the value itself")
    if group not in _EXPRESSIONS:
        raise UsageError(_refusal(group))
    name = str(node.get("function_name", "")).lower()
    if name in _REFUSED_FUNCTIONS:
        raise UsageError(f"the function {name} is not available here: queries only read hostsight's views")


def _check_source(node: dict[str, Json], kind: str, known: frozenset[str]) -> None:
    """What stands after FROM must be one of the views, a name given by WITH, or a function on the list."""
    if kind == "TABLE_FUNCTION":
        function = node.get("function")
        name = str(function.get("function_name") if isinstance(function, dict) else "")
        if name.lower() not in _TABLE_FUNCTIONS:
            raise UsageError(
                f"the table function {name} is not available here: queries only read hostsight's views"
            )
    if kind == "BASE_TABLE" and str(node.get("schema_name", "")).lower() == "information_schema":
        return
    if kind in {"BASE_TABLE", "SHOW_REF"} and node.get("table_name"):
        _check_table(str(node["table_name"]), known)


def _check_table(name: str, known: frozenset[str]) -> None:
    plain = name.strip('"').lower()
    if name not in _CATALOGUES and plain not in known:
        raise UsageError(f"there is no view '{name}'{nearest(plain, known)}; SHOW TABLES lists them")


def _refusal(what: str) -> str:
    return f"{what} is not allowed: a query may only read (SELECT, WITH, DESCRIBE, SUMMARIZE, SHOW TABLES, EXPLAIN)"


def engine_message(error: duckdb.Error) -> str:
    """DuckDB's own words, without its prefix, in one line; what points into the query or its own code stays out."""
    text = re.split(r"\n\n(?:LINE |Stack Trace)", str(error))[0].strip()
    if "expression depth limit" in text:
        return TOO_DEEP
    words = " ".join(re.sub(r"^\w[\w ]* Error: ", "", text).split())
    if "TIMESTAMP_NS and type TIMESTAMP WITH TIME ZONE" in words:
        return f"{words}; write now()::TIMESTAMP"
    return words
