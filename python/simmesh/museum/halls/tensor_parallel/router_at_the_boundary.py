"""A router reads tokens that are cut over the tensor-parallel ranks, and says which expert gets
them. Its weights are the same on all ranks, so their gradients are parts that must be added up.
In torchtitan the tokens crossed from DTensors to plain tensors in front of the router. The
crossing declared no placement for the gradient, and the default is that it is whole already. So
each rank updated its router with the gradient of its own tokens. After some steps the routers
disagree, and one token would go to other experts on other ranks. It shows in the gradient of the
router, and later as weights that differ by rank.
"""

import torch
from torch import nn
from torch.distributed.tensor import Partial, Replicate, distribute_tensor

from simmesh.museum import Exhibit, SameAsOneDevice


class Router(nn.Module):
    def __init__(self, mesh, grad_placements):
        super().__init__()
        self.weight = nn.Parameter(distribute_tensor(torch.randn(3, 4), mesh, [Replicate()]))
        self.grad_placements = grad_placements

    def forward(self, tokens):
        weight = self.weight.to_local(grad_placements=self.grad_placements)
        return (tokens @ weight.t()).softmax(-1)


def train(mesh, grad_placements):
    torch.manual_seed(0)
    router = Router(mesh, grad_placements)
    tokens, scores = torch.randn(4, 4), torch.randn(4, 3)
    rank, ranks = mesh.get_local_rank(), mesh.size()
    (router(tokens.chunk(ranks)[rank]) * scores.chunk(ranks)[rank]).sum().backward()


def wrong(mesh):
    train(mesh, None)


def right(mesh):
    train(mesh, [Partial()])


EXHIBIT = Exhibit(
    title="Routers that drift apart",
    source="pytorch/torchtitan PR 2416",
    date="2026-03-02",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Router.weight",
)
