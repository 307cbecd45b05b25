"""Runs an exhibit's program under LocalTensor, for all ranks at once, as its user would write it.

Under LocalTensor a rank is no number but a LocalIntNode, and what a rank takes from a list or a
tensor is written with rank_map. So each `values[index]` of the exhibit becomes `part(values,
index)`, which does that where the index depends on the rank. Nothing else changes. A program that
branches on its rank is none of LocalTensor's, which says that it does not handle MPMD.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed._local_tensor import LocalIntNode, LocalTensor, rank_map

import simmesh
from simmesh.museum.collection import Card
from simmesh.museum.exhibit import Exhibit
from simmesh.one_device.layout import rows_of

_PART = "_part_by_rank"


@dataclass(frozen=True)
class Rows:
    """The rows of each rank: a slice whose ends depend on the rank."""

    start: Any
    stop: Any
    step: None = None


def exhibit_of(card: Card) -> Exhibit:
    """The exhibit, in which what a rank takes is written with rank_map."""
    place = f"museum/{card.hall}/{card.name}.py"
    setattr(builtins, _PART, part)
    original, simmesh.rows_of = simmesh.rows_of, _rows_of  # type: ignore[assignment]
    try:
        module: dict[str, Any] = {"__name__": f"museum_local_tensor.{card.name}"}
        tree = ast.fix_missing_locations(_Parts().visit(ast.parse(card.text)))
        exec(compile(tree, place, "exec"), module)
    finally:
        simmesh.rows_of = original
    exhibit: Exhibit = module["EXHIBIT"]
    return exhibit


class _Parts(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        call = ast.Call(ast.Name(_PART, ast.Load()), [node.value, _index(node.slice)], [])
        return ast.copy_location(call, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


def _index(node: ast.expr) -> ast.expr:
    """The index as a value: slices as calls of slice."""
    if isinstance(node, ast.Tuple):
        node.elts = [_index(each) for each in node.elts]
    if isinstance(node, ast.Slice):
        ends = [each or ast.Constant(None) for each in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), ends, [])
    return node


def part(values: Any, index: Any) -> Any:
    """``values[index]``, for each rank by itself where the index depends on the rank."""
    if not _depends(index):
        return values[index]
    if not isinstance(values, torch.Tensor):
        return _combined({rank: values[_on(index, rank)] for rank in _ranks(index)})
    if isinstance(values, LocalTensor):
        return _part_of_local(values, index)
    return rank_map(lambda rank: values[_on(index, rank)].clone())


def _part_of_local(values: LocalTensor, index: Any) -> torch.Tensor:
    """A part of a LocalTensor, by operators that have a gradient."""
    found: torch.Tensor = values
    dim = 0
    for each in index if isinstance(index, tuple) else (index,):
        if isinstance(each, (slice, Rows)) and each.step is None:
            if each.start is not None or each.stop is not None:
                end = found.shape[dim] if each.stop is None else each.stop
                found = torch.ops.aten.slice.Tensor(found, dim, each.start or 0, end)
            dim += 1
        elif isinstance(each, (int, torch.SymInt)):
            found = torch.ops.aten.select.int(found, dim, each)
        else:
            raise TypeError(f"LocalTensor: no index {each!r} that depends on the rank")
    return found


def _combined(by_rank: dict[int, Any]) -> Any:
    first = next(iter(by_rank.values()))
    if isinstance(first, torch.Tensor):
        return rank_map(lambda rank: _of(by_rank[rank], rank).clone())
    if all(each is first or each == first for each in by_rank.values()):
        return first
    if all(isinstance(each, int) for each in by_rank.values()):
        return torch.SymInt(LocalIntNode(by_rank))
    raise TypeError(f"LocalTensor: values of {type(first).__name__} that depend on the rank")


def _rows_of(rank: Any, ranks: int, count: int, sizes: Sequence[int] | None = None) -> Any:
    """``simmesh.rows_of`` of a rank that is a LocalIntNode."""
    if not _is_local(rank):
        return rows_of(rank, ranks, count, sizes)
    found = {
        each: rows_of(place, ranks, count, sizes) for each, place in rank.node._local_ints.items()
    }
    ends: list[Callable[[slice], int]] = [lambda rows: rows.start, lambda rows: rows.stop]
    return Rows(*(_combined({each: end(rows) for each, rows in found.items()}) for end in ends))


def _is_local(value: Any) -> bool:
    return isinstance(value, torch.SymInt) and isinstance(value.node, LocalIntNode)


def _leaves(index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return [leaf for each in index for leaf in _leaves(each)]
    if isinstance(index, (slice, Rows)):
        return [index.start, index.stop, index.step]
    return [index]


def _depends(index: Any) -> bool:
    return isinstance(index, Rows) or any(_is_local(each) for each in _leaves(index))


def _ranks(index: Any) -> list[int]:
    return next(sorted(each.node._local_ints) for each in _leaves(index) if _is_local(each))


def values_by_rank(values: dict[str, torch.Tensor], ranks: int) -> list[dict[str, torch.Tensor]]:
    """The values of each rank."""
    return [{name: _of(value, rank) for name, value in values.items()} for rank in range(ranks)]


def _of(value: Any, rank: int) -> Any:
    if isinstance(value, LocalTensor):
        return value._local_tensors[rank]
    return value.node._local_ints[rank] if _is_local(value) else value


def _on(index: Any, rank: int) -> Any:
    """The index of one rank."""
    if isinstance(index, tuple):
        return tuple(_on(each, rank) for each in index)
    if isinstance(index, (slice, Rows)):
        return slice(*(_of(each, rank) for each in (index.start, index.stop, index.step)))
    return _of(index, rank)
