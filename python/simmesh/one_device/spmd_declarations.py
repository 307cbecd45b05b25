"""Declarations of plain tensors by ``spmd_types``, where a program uses it."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.tensor import Replicate, Shard


def declared_by_spmd_types(tensor: torch.Tensor) -> tuple[list[Any], torch.Tensor] | None:
    """The placements that a tensor has over the mesh axes of which it is declared to be replicated,
    invariant or sharded, and the ranks of that mesh. None where nothing is declared.

    Axes over which a tensor is a part of a sum, or only varies, are left out: that is found from
    the bits, so that a declaration hides no sum that is missing.
    """
    spmd = sys.modules.get("spmd_types")
    types = {} if spmd is None else spmd.get_local_type(tensor)
    if spmd is None or not types:
        return None
    dims = _sharded_dims(spmd, tensor)
    if dims is None:
        return None
    found: list[tuple[int, int, Any]] = []
    for axis, kind in types.items():
        place = _place_of(spmd.normalize_axis(axis))
        if place is None:
            return None
        stride, size = place
        if size == 1:
            continue
        if kind is spmd.R or kind is spmd.I:
            found.append((stride, size, Replicate()))
        elif place in dims:
            found.append((stride, size, Shard(dims[place])))
    found.sort(key=lambda each: -each[0])
    if not found:
        return None
    return [placement for _, _, placement in found], _ranks([each[:2] for each in found])


def _sharded_dims(spmd: Any, tensor: torch.Tensor) -> dict[tuple[int, int], int] | None:
    """The dim that each axis shards, by the axis's stride and size. None if an order in which axes
    shard one dim isn't that of the mesh.
    """
    dims: dict[tuple[int, int], int] = {}
    for dim, entry in enumerate(spmd.get_partition_spec(tensor) or ()):
        axes = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
        places = [_place_of(spmd.normalize_axis(each)) for each in axes]
        known = [each for each in places if each is not None]
        if len(known) < len(places) or known != sorted(known, reverse=True):
            return None
        dims |= dict.fromkeys(known, dim)
    return dims


def _place_of(axis: Any) -> tuple[int, int] | None:
    """The stride and the size of an axis of ranks that are evenly apart."""
    ranks = sorted(axis.layout.all_ranks_from_zero())
    if len(ranks) == 1:
        return 1, 1
    stride = ranks[1] - ranks[0]
    return (stride, len(ranks)) if ranks == list(range(0, stride * len(ranks), stride)) else None


def _ranks(places: list[tuple[int, int]]) -> torch.Tensor:
    """The ranks of this rank's mesh."""
    rank = dist.get_rank()
    grid = torch.tensor(rank - sum(rank // stride % size * stride for stride, size in places))
    for stride, size in places:
        grid = grid.unsqueeze(-1) + torch.arange(size) * stride
    return grid
