"""A scaler of gradients looks for overflows, skips the step if there is one, and lowers the scale.
With sharded gradients each rank sees its own. fairscale's first sharded training used PyTorch's
scaler as it is. A rank whose gradients overflow skips; another one steps and shares its new
weights, and waits for the first for ever. Where the step shares nothing, the weights of one rank
stay behind, and the scales differ from then on. It needs one overflow, which every float16 training
has in its first steps, as the scale begins high.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 60000.0], [7.0, 8.0]])


class Scaler(torch.amp.GradScaler):
    def __init__(self, group):
        super().__init__("cpu", init_scale=2.0**100, backoff_factor=2.0**-20)
        self.group = group

    def _unscale_grads_(self, *arguments):
        found = super()._unscale_grads_(*arguments)
        if self.group is not None:
            for flag in found.values():
                dist.all_reduce(flag, group=self.group)
        return found


class Scale(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        shard = torch.randn(4, 2).chunk(mesh.size())[mesh.get_local_rank()]
        self.weight = nn.Parameter(shard.clone())

    def forward(self, x):
        return x * self.weight


def train(mesh, group):
    torch.manual_seed(0)
    model = Scale(mesh)
    mine = X.chunk(mesh.size())[mesh.get_local_rank()]
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=1e-6), Scaler(group)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(model(mine).square().sum()).backward()
        scaler.step(optimizer)
        scaler.update()


def wrong(mesh):
    train(mesh, group=None)


def right(mesh):
    train(mesh, group=mesh.get_group())


EXHIBIT = Exhibit(
    title="A shard that skips the step alone",
    source="facebookresearch/fairscale PR 179, PR 181",
    date="2020-11-10",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="scaler.step(optimizer)",
)
