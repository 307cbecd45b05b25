"""A second forward pass in another dtype.

Under mixed precision FSDP casts the inputs of a module before it computes. With checkpointing the
module computes again in the backward pass, and the cast must be made again. NeMo Automodel's
checkpointing wrapped the module inside of the cast: the first run got bfloat16, the second the
inputs as they had been kept, in float32. So the gradients belong to another forward pass than the
loss. Both are good approximations of one function, and training hardly suffers. It is a difference
that only equal bits can name.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.utils.checkpoint import checkpoint

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh) -> torch.Tensor:
    return X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().sum() / len(X)


class Layer(nn.Module):
    """Casts its input for the first run, and for the second one if it is told to."""

    def __init__(self, casts_again: bool) -> None:
        super().__init__()
        self.weight, self.casts_again, self.runs = nn.Parameter(torch.randn(4, 4)), casts_again, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.runs += 1
        if self.runs == 1 or self.casts_again:
            return torch.tanh(x.bfloat16() @ self.weight.bfloat16()).float()
        return torch.tanh(x @ self.weight)


def train(mesh: DeviceMesh, casts_again: bool) -> None:
    torch.manual_seed(0)
    layer = Layer(casts_again)
    x = rows(mesh).clone().requires_grad_()
    y = checkpoint(layer, x, use_reentrant=True) if mesh.size() > 1 else layer(x)
    (y.square().sum() / len(X)).backward()
    dist.all_reduce(layer.weight.grad, group=mesh.get_group())


def wrong(mesh: DeviceMesh) -> None:
    train(mesh, casts_again=False)


def right(mesh: DeviceMesh) -> None:
    train(mesh, casts_again=True)


EXHIBIT = Exhibit(
    title="Recomputation runs in another dtype",
    source="NVIDIA-NeMo/Automodel PR 3513",
    date="2026-08-12",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Layer.weight",
)
