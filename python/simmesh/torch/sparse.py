"""All-reduce of sparse tensors, from all-gathers of their dense parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from simmesh.torch.rank_state import Group
from simmesh.torch.work import RankWork


def all_reduce_sparse(
    tensors: Sequence[torch.Tensor], group: Group, reduction: dict[str, Any]
) -> RankWork:
    """Sums the first of the tensors over the group, a sparse COO tensor, and gives all of them the
    sum, coalesced. Only sums are defined.

    The sum of an element adds the ranks' values in the order of the group, under any arithmetic.
    """
    tensor = tensors[0]
    if reduction["reduce"] != "sum" or tensor.layout != torch.sparse_coo:
        raise RuntimeError(
            f"[torch/sparse] all_reduce of a sparse tensor: expected a sum of COO tensors, "
            f"got {reduction['reduce']} of {tensor.layout}"
        )
    own = tensor.detach().coalesce()
    with torch.no_grad():
        shapes = _gather(group, torch.tensor([list(own.values().shape)]), None)
        if any(shape[0, 1:].tolist() != list(own.values().shape[1:]) for shape in shapes):
            raise RuntimeError(
                "[torch/sparse] all_reduce: expected dense parts of one shape, got those of "
                f"{shapes}"
            )
        counts = [int(shape[0, 0]) for shape in shapes]
        indices = _gather(group, own.indices().t().contiguous(), counts)
        values = _gather(group, own.values().contiguous(), counts)
        total = torch.sparse_coo_tensor(
            torch.cat(indices).t(), torch.cat(values), tensor.shape, is_coalesced=False
        ).coalesce()
        for each in tensors:
            each.copy_(total)
    return RankWork([], list(tensors))


def _gather(group: Group, part: torch.Tensor, counts: list[int] | None) -> list[torch.Tensor]:
    lengths = counts or [part.shape[0]] * group.size
    parts = [part.new_empty((length, *part.shape[1:])) for length in lengths]
    group.core.collective("all_gather_list", [part], parts).wait()
    return parts
