"""Metrics as weighted sums of events: `(frontend + backend) / 6`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

_ONE = ""


@dataclass(frozen=True, slots=True)
class Formula:
    """`terms`: (event, weight), in the order of their names."""

    terms: tuple[tuple[str, float], ...]

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)


def parse_formula(text: str) -> Formula:
    """Events joined by + and -, times and divided by numbers, with brackets. Raises ValueError for anything else."""
    try:
        weights = _weights(ast.parse(text, mode="eval").body)
    except (SyntaxError, ZeroDivisionError, ValueError) as error:
        raise ValueError(f"'{text}' is no formula: {error}") from error
    if weights.pop(_ONE, 0.0):
        raise ValueError(f"'{text}' is no formula: it adds a number to a count")
    return Formula(tuple(sorted(weights.items())))


def _weights(node: ast.expr) -> dict[str, float]:
    """Event name -> weight; a plain number stands under the empty name."""
    match node:
        case ast.Name(id=name):
            return {name: 1.0}
        case ast.Constant(value=float() | int() as value):
            return {_ONE: float(value)}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            return _sum(_weights(left), _weights(right), -1.0 if isinstance(op, ast.Sub) else 1.0)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _product(_weights(left), _weights(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _product(_weights(left), {_ONE: 1.0 / _number(_weights(right))})
    raise ValueError(f"'{ast.unparse(node)}' is neither an event, a number nor + - * /")


def _sum(left: Mapping[str, float], right: Mapping[str, float], sign: float) -> dict[str, float]:
    return {name: left.get(name, 0.0) + sign * right.get(name, 0.0) for name in (*left, *right)}


def _product(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    events, number = (left, _number(right)) if set(right) == {_ONE} else (right, _number(left))
    return {name: weight * number for name, weight in events.items()}


def _number(weights: Mapping[str, float]) -> float:
    if set(weights) != {_ONE}:
        raise ValueError("events may be multiplied and divided by numbers only")
    return weights[_ONE]
