"""``SyncBatchNorm``, which PyTorch runs on GPUs alone: the statistics of the rows of all ranks.

It has one all-gather in the forward pass and one all-reduce in the backward pass, as PyTorch's.
What is exchanged are sums and sums of squares, so that with ``local="exact"`` the result has the
bits of ``BatchNorm`` on all rows.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.nn import SyncBatchNorm
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel

from simmesh.torch.exact import normalization
from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets layers take the rows of ranks of the CPU, and DDP such layers."""
    patches.around_in_ranks(SyncBatchNorm, "forward", _forward)
    patches.in_ranks(DistributedDataParallel, "_passing_sync_batchnorm_handle", _take)


def _take(ddp: Any, module: Any) -> None:
    """A module of ranks that have CUDA's names is one of GPUs."""


def _forward(forward: Any, layer: Any, input: torch.Tensor) -> Any:
    group = layer.process_group or dist.group.WORLD
    if not layer.training or not dist.is_initialized() or dist.get_world_size(group) == 1:
        return _BatchNorm.forward(layer, input)
    layer._check_input_dim(input)
    layer._check_non_zero_input_channels(input)
    momentum = layer.momentum
    buffers = None, None
    if layer.track_running_stats:
        layer.num_batches_tracked.add_(1)
        if momentum is None:
            momentum = 1.0 / float(layer.num_batches_tracked)
        buffers = layer.running_mean, layer.running_var
    kept = normalization.Running(*buffers, 0.0 if momentum is None else momentum)
    return _OfAllRows.apply(input, layer.weight, layer.bias, kept, layer.eps, group)


class _OfAllRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: torch.Tensor | None,
                bias: torch.Tensor | None, running: normalization.Running, eps: float,
                group: Any) -> torch.Tensor:  # fmt: skip
        with torch._C._DisableTorchDispatch():
            mine = normalization.sums_of_channels(input)
            parts = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, mine, group=group)
        with torch._C._DisableTorchDispatch():
            found = normalization.statistics_of_parts(parts, eps)
            running.update(found)
            result = normalization.normalized(input, found.mean, found.scale, weight, bias)
            dtype = input.dtype if weight is None else weight.dtype
            ctx.save_for_backward(input, weight, found.mean.to(dtype), found.scale.to(dtype))
        ctx.count, ctx.group = found.count, group
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        (gradient,) = gradients
        input, weight, mean, scale = ctx.saved_tensors
        with torch._C._DisableTorchDispatch():
            pass_back = normalization.BackwardOfChannels(gradient, input, weight, mean, scale)
            sums = pass_back.sums()
        dist.all_reduce(sums, group=ctx.group)
        with torch._C._DisableTorchDispatch():
            of_input = pass_back.of_input(sums, ctx.count)
            of_weight, of_bias = pass_back.of_parameters()
        if weight is None:
            of_weight = of_bias = None
        return of_input, of_weight, of_bias, None, None, None
