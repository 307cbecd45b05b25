"""With four ranks and two experts, each expert lives on two ranks. Its gradients must be added up
over its two copies, and not over the other expert's. fairseq's own data parallel class passes over
all parameters that are marked as an expert's, and adds nothing up. A reader asked which line does
it, and found none. As long as each rank has its own experts that is right. With more ranks than
experts the copies learn from other tokens each, and drift apart. The question has no answer. It
shows in the gradients of the expert's copies.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Replicas

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


class Layer(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.dense = nn.Linear(3, 3)
        every = [nn.Linear(3, 3) for _ in range(2)]
        self.expert = every[mesh["ep"].get_local_rank()]
        for parameter in self.expert.parameters():
            parameter.is_expert = True

    def forward(self, x):
        return self.expert(self.dense(x).relu())


def train(mesh, reduces_copies):
    torch.manual_seed(0)
    layer = Layer(mesh)
    layer(X.chunk(dist.get_world_size())[dist.get_rank()]).square().sum().backward()
    for parameter in layer.parameters():
        if not hasattr(parameter, "is_expert"):
            dist.all_reduce(parameter.grad)
        elif reduces_copies:
            dist.all_reduce(parameter.grad, group=mesh["dp"].get_group())
    torch.optim.SGD(layer.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, reduces_copies=False)


def right(mesh):
    train(mesh, reduces_copies=True)


EXHIBIT = Exhibit(
    title="Two copies of an expert",
    source="facebookresearch/fairseq #4220",
    date="2022-02-16",
    check=Replicas(layout={"dp": 2, "ep": 2}, over=["dp"]),
    wrong=wrong,
    right=right,
    at_fault="gradient of expert.weight",
)
