"""Under context parallelism each rank has the loss of its tokens, and gradients are averaged over
ranks. So that the average is right, losses are multiplied by the number of context-parallel ranks
first. Megatron's main loss had that factor, and so had the balance loss of experts. The loss of
the extra prediction head was added later, without it. With 8 ranks the extra head trained at an
eighth of its weight. It shows in the gradient of that head: 1/2 times one device's on two ranks.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS = 8


def train(mesh, extra_factor):
    torch.manual_seed(0)
    model = nn.ModuleDict({"head": nn.Linear(3, 3), "extra": nn.Linear(3, 3)})
    x = torch.randn(TOKENS, 3).chunk(mesh.size())[mesh.get_local_rank()]
    main = model["head"](x).square().sum() / TOKENS * mesh.size()
    extra = model["extra"](x).square().sum() / TOKENS * extra_factor(mesh)
    (main + 0.5 * extra).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
        parameter.grad /= mesh.size()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, lambda mesh: 1)


def right(mesh):
    train(mesh, lambda mesh: mesh.size())


EXHIBIT = Exhibit(
    title="The factor that a later loss forgot",
    source="NVIDIA/Megatron-LM PR 3959",
    date="2026-03-20",
    check=SameAsOneDevice(layouts=[{"cp": 2}, {"cp": 4}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear#2.weight",
)
