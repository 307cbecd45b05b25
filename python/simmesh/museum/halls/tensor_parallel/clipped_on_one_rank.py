"""Norms of a transformer aren't cut: each tensor-parallel rank has a copy, and the copies must
stay equal. To count each parameter once, the gradient norm leaves the copies to rank 0. In the
bf16 optimizer of the BLOOM-176B training the same list was used for clipping. So rank 0 scaled
down the gradients of the norms, the other ranks did not, and the copies moved apart. The
chronicles of BLOOM tell of days of training with weights that had drifted. It became the best
known silent error of its kind, and a test case of later tools. It shows the first time that
clipping acts: the clipped gradient differs by rank.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Replicate

from simmesh.museum import Exhibit, SameAsOneDevice


class Block(nn.Module):
    def __init__(self, mesh):
        super().__init__()
        self.mesh, self.norm = mesh, nn.LayerNorm(4)
        up, down = torch.randn(4, 6), torch.randn(6, 4)
        rank, ranks = mesh.get_local_rank(), mesh.size()
        self.up = nn.Parameter(up.chunk(ranks, 1)[rank].clone())
        self.down = nn.Parameter(down.chunk(ranks)[rank].clone())

    def forward(self, x):
        x = DTensor.from_local(self.norm(x), self.mesh, [Replicate()])
        part = torch.tanh(x.to_local(grad_placements=[Partial()]) @ self.up) @ self.down
        return DTensor.from_local(part, self.mesh, [Partial()]).full_tensor()


def train(mesh, clips_copies_on_rank_0):
    torch.manual_seed(0)
    block = Block(mesh)
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
    block(torch.randn(3, 4)).square().sum().backward()
    copies, cut = list(block.norm.parameters()), [block.up, block.down]
    counted = cut + copies if mesh.get_local_rank() == 0 else cut
    square = torch.stack([each.grad.square().sum() for each in counted]).sum()
    dist.all_reduce(square, group=mesh.get_group())
    clipped = counted if clips_copies_on_rank_0 else cut + copies
    nn.utils.clip_grads_with_norm_(clipped, 0.01, square.sqrt())
    optimizer.step()


def wrong(mesh):
    train(mesh, clips_copies_on_rank_0=True)


def right(mesh):
    train(mesh, clips_copies_on_rank_0=False)


EXHIBIT = Exhibit(
    title="The drift of BLOOM",
    source="BLOOM-176B chronicles; TrainCheck, case deepspeed-1801",
    date="2022-03-24",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="clipped gradient of norm.weight",
)
