"""Placements as recorded cases write them: ``R``, ``S(0)``, ``P(sum)``, ``_S(0,2)``."""

from __future__ import annotations

import re
from typing import Any, Sequence

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import Placement, _StridedShard

from simmesh.recording import formula


def read(text: str) -> Placement:
    """The placement that a word of a case means."""
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
    raise ValueError(f"[recording/placements] expected a placement that cases have a word for, got {placement}")


def local_part(
    shape: Sequence[int], data: Any, placements: Sequence[Placement], mesh: DeviceMesh
) -> torch.Tensor:
    """This rank's part of the tensor by formula ``data``; Partial mesh dims hold tensors of their own seeds.

    Shards are cut off in the order of the mesh dims: contiguous pieces of ceil(n / size) rows, the last ones
    shorter or empty.
    """
    coordinate = mesh.get_coordinate()
    assert coordinate is not None
    pending = [dim for dim, placement in enumerate(placements) if placement.is_partial()]
    seed = formula.pending_seed(
        data["seed"], [coordinate[dim] for dim in pending], [mesh.size(dim) for dim in pending]
    )
    local = formula.values(shape, {**data, "seed": seed})
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim = placement.dim
            size, pieces = local.size(dim), mesh.size(mesh_dim)
            rows = -(-size // pieces)
            begin = min(rows * coordinate[mesh_dim], size)
            local = local.narrow(dim, begin, min(rows, size - begin))
    return local.contiguous()
