"""Two conventions exist for rotary positions, and a file in one of them is permuted when it is
loaded into the other: within each head, rows are put in another order. The size of a head is the
number of rows by the number of heads. transformers cut the weight for the rank first and permuted
afterwards, and took the number of rows from the shard. So heads were half as large, and rows went
to wrong places, on two ranks. The shapes are right and nothing is missing. The cure permutes the
whole weight. It shows in the output of the layer.
"""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from simmesh.museum import Exhibit, SameAsOneDevice

HEADS = 2
IN_FILE = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


def permute_for_rope(weight):
    rows = weight.shape[0] // HEADS
    halves = weight.reshape(HEADS, rows // 2, 2, weight.shape[1])
    return halves.transpose(1, 2).reshape(weight.shape)


def load(mesh, cuts_first):
    torch.manual_seed(0)
    model = fully_shard(nn.Linear(3, 8, bias=False), mesh=mesh)
    local = model.weight.to_local()
    rank, size = mesh.get_local_rank(), mesh.size()
    with torch.no_grad():
        if cuts_first:
            local.copy_(permute_for_rope(IN_FILE.chunk(size)[rank]))
        else:
            local.copy_(permute_for_rope(IN_FILE).chunk(size)[rank])
    return model(torch.ones(1, 3)).detach()


def wrong(mesh):
    return load(mesh, cuts_first=True)


def right(mesh):
    return load(mesh, cuts_first=False)


EXHIBIT = Exhibit(
    title="Permuted after the cut",
    source="huggingface/transformers PR 48519",
    date="2026-09-04",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="output of Linear",
)
