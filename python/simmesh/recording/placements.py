"""Placements as recorded cases write them: ``R``, ``S(0)``, ``P(sum)``, ``_S(0,2)``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import Placement, _StridedShard

from simmesh.recording import formula


def read(text: str) -> Placement:
    """Returns the placement that a word of a case means."""
    if text == "R":
        return Replicate()
    if found := re.fullmatch(r"S\((\d+)\)", text):
        return Shard(int(found[1]))
    if found := re.fullmatch(r"P\((\w+)\)", text):
        return Partial(found[1])
    if found := re.fullmatch(r"_S\((\d+),(\d+)\)", text):
        return _StridedShard(int(found[1]), split_factor=int(found[2]))
    raise ValueError(f"[recording/placements] expected R, S(d), P(op) or _S(d,sf), got {text!r}")


def write(placement: Any) -> str:
    """The word for a placement in a case."""
    if isinstance(placement, Replicate):
        return "R"
    if isinstance(placement, _StridedShard):
        return f"_S({placement.dim},{placement.split_factor})"
    if isinstance(placement, Shard):
        return f"S({placement.dim})"
    if type(placement) is Partial:
        return f"P({placement.reduce_op})"
    if type(placement).__name__ == "_NormPartial":
        return f"_NormP({placement.norm_type:g})"
    raise ValueError(
        f"[recording/placements] expected a placement that cases have a word for, got {placement}"
    )


def local_part(
    shape: Sequence[int],
    data: Mapping[str, Any],
    placements: Sequence[Placement],
    mesh: DeviceMesh,
    order: Sequence[tuple[int, Sequence[int]]] = (),
) -> torch.Tensor:
    """This rank's part of the tensor by formula ``data``.

    Partial mesh dims hold tensors of their own seeds. Shards of one tensor dim are cut off in the
    order of the mesh dims, or in the one that ``order`` gives.
    """
    coordinate = mesh.get_coordinate()
    assert coordinate is not None
    partial = [dim for dim, placement in enumerate(placements) if placement.is_partial()]
    sizes = [mesh.size(dim) for dim in partial]
    seed = formula.partial_seed(data["seed"], [coordinate[dim] for dim in partial], sizes)
    local = formula.values(shape, {**data, "seed": seed})
    ordered = [mesh_dim for _, mesh_dims in order for mesh_dim in mesh_dims]
    for mesh_dim in [*ordered, *(dim for dim in range(mesh.ndim) if dim not in ordered)]:
        placement = placements[mesh_dim]
        if hasattr(placement, "dim"):
            blocks = getattr(placement, "split_factor", 1)
            local = _cut(local, placement.dim, blocks, mesh.size(mesh_dim), coordinate[mesh_dim])
    return local.contiguous()


def _cut(whole: torch.Tensor, dim: int, blocks: int, pieces: int, index: int) -> torch.Tensor:
    if blocks == 1:
        return _piece(whole, dim, pieces, index)
    cut = [_piece(_piece(whole, dim, blocks, block), dim, pieces, index) for block in range(blocks)]
    return torch.cat(cut, dim)


def _piece(whole: torch.Tensor, dim: int, pieces: int, index: int) -> torch.Tensor:
    size = whole.size(dim)
    rows = -(-size // pieces)
    begin = min(rows * index, size)
    return whole.narrow(dim, begin, min(rows, size - begin))
