"""Attention of distributed tensors under CUDA's names.

PyTorch shards CUDA's operators of attention by heads and by the batch, and has no strategy for the
CPU's, which computes here in their place.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import Placement, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
# The dims of the batch and of heads in queries, keys, values and results.
_CUT = (0, 1)

Shardings = list[tuple[list[Placement], list[Placement]]]


def install() -> None:
    """Registers the strategies, for the run."""
    register_sharding(_forward)(_of_forward)
    register_sharding(_backward)(_of_backward)


def _of_forward(*arguments: Any, attn_mask: Any = None, **options: Any) -> Shardings:
    return _shardings(results=2, operands=3, mask=attn_mask)


def _of_backward(*arguments: Any, attn_mask: Any = None, **options: Any) -> Shardings:
    return _shardings(results=3, operands=6, mask=attn_mask)


def _shardings(results: int, operands: int, mask: Any) -> Shardings:
    """All tensors alike, replicated or cut along a dim that a mask doesn't have; and the mask."""
    cut = [Shard(dim) for dim in _CUT if mask is None or _is_same_along(mask, dim)]
    masks: list[Placement] = [] if mask is None else [Replicate()]
    return [([each] * results, [each] * operands + masks) for each in (Replicate(), *cut)]


def _is_same_along(mask: Any, dim: int) -> bool:
    """True if a mask, whose last two dims are those of the sequence, holds for all of a dim."""
    shape = (1,) * (4 - len(mask.shape)) + tuple(mask.shape)
    return shape[dim] == 1
