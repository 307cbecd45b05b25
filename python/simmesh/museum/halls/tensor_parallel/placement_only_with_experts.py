"""torchtitan knew where the gradient of its routers lies, and computed the right placement for
it. Then it handed the placement on inside of a branch that ran only if expert parallelism was on.
With tensor parallelism alone the placement was computed and forgotten. The default took its
place: the gradient counts as whole on each rank, and nobody adds it up. A setting that has
nothing to do with the router decided whether it trains right. It shows as soon as the same model
runs on a mesh without experts' ranks.
"""

import torch
from torch import nn
from torch.distributed.tensor import Partial, Replicate, distribute_tensor

from simmesh.museum import Exhibit, SameAsOneDevice


def options_if_experts(mesh):
    placements = [Partial() if name == "tp" else Replicate() for name in mesh.mesh_dim_names]
    if "ep" in mesh.mesh_dim_names:
        return {"grad_placements": placements}
    return {}


def options(mesh):
    placements = [Partial() if name == "tp" else Replicate() for name in mesh.mesh_dim_names]
    return {"grad_placements": placements}


def train(mesh, options):
    torch.manual_seed(0)
    router = nn.Linear(4, 3, bias=False)
    weight = distribute_tensor(router.weight.detach(), mesh, [Replicate()] * mesh.ndim)
    router.weight = nn.Parameter(weight)
    tokens, scores = torch.randn(4, 4), torch.randn(4, 3)
    rank, ranks = mesh.get_local_rank("tp"), mesh.size()
    chosen = tokens.chunk(ranks)[rank] @ router.weight.to_local(**options(mesh)).t()
    (chosen.sigmoid() * scores.chunk(ranks)[rank]).sum().backward()
    torch.optim.SGD(router.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, options_if_experts)


def right(mesh):
    train(mesh, options)


EXHIBIT = Exhibit(
    title="The right answer, in the wrong branch",
    source="pytorch/torchtitan PR 4054",
    date="2026-08-05",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of parameter 0",
)
