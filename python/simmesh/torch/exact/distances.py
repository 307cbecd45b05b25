"""Distances between rows: norms of their differences, whatever the number of rows is."""

from __future__ import annotations

import math
from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.dispatch import in_mode
from simmesh.torch.exact.tables import Operator


def _norms(differences: torch.Tensor, order: float) -> torch.Tensor:
    if differences.shape[-1] == 0:
        return differences.sum(-1)
    return torch.linalg.vector_norm(differences, order, -1)


def _slopes(differences: torch.Tensor, distance: torch.Tensor, order: float) -> torch.Tensor:
    """The derivatives of norms, 0 where a norm is 0."""
    if order == 0:
        return torch.zeros_like(differences)
    if order == 1:
        return differences.sign()
    if math.isinf(order):
        return torch.where(differences.abs() == distance, differences.sign(), 0.0)
    if order == 2:
        slopes = differences / distance
    else:
        slopes = differences.sign() * (differences.abs() / distance).pow(order - 1)
    return torch.where(distance == 0, 0.0, slopes)


@tables.exact("distances", "_cdist_forward _euclidean_dist")
def _between(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The distances of each row of one matrix from each row of another."""
    order = args[2] if len(args) > 2 else 2.0
    return in_mode(lambda: _norms(args[0].unsqueeze(-2) - args[1].unsqueeze(-3), order))


@tables.exact("distances", "_cdist_backward")
def _between_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    gradient, one, other, order, distance = args

    def composed() -> torch.Tensor:
        differences = one.unsqueeze(-2) - other.unsqueeze(-3)
        slopes = _slopes(differences, distance.unsqueeze(-1), order)
        return (gradient.unsqueeze(-1) * slopes).sum(-2)

    return in_mode(composed)


def _pairs(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = torch.triu_indices(len(rows), len(rows), 1)
    return first, second


@tables.exact("distances", "_pdist_forward")
def _among(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The distances of the rows of a matrix from those below."""
    order = args[1] if len(args) > 1 else 2.0
    first, second = _pairs(args[0])
    return in_mode(lambda: _norms(args[0][first] - args[0][second], order))


@tables.exact("distances", "_pdist_backward")
def _among_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    gradient, rows, order, distance = args
    first, second = _pairs(rows)

    def composed() -> torch.Tensor:
        slopes = _slopes(rows[first] - rows[second], distance.unsqueeze(-1), order)
        parts = gradient.unsqueeze(-1) * slopes
        return torch.zeros_like(rows).index_add(0, first, parts).index_add(0, second, -parts)

    return in_mode(composed)
