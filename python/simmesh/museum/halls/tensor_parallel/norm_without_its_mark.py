"""Under sequence parallelism each rank runs the norms on its own part of the sequence. So the
gradient of a norm's weight is a part of a sum, and someone has to add the parts up. Megatron does
it for parameters that carry a mark, the attribute ``sequence_parallel``. Norm layers that came
from another library never got the mark. Their gradients stayed apart, and the norms of the ranks
drifted away from each other step by step. Two projects met it in March 2025, and a study of
silent errors has it in its table of Megatron's bugs. It shows in the gradient of the norm: a part
of a sum that was not added up.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class Norm(nn.LayerNorm):
    def __init__(self, size):
        super().__init__(size)
        for parameter in self.parameters():
            parameter.sequence_parallel = True


def train(mesh, norm):
    torch.manual_seed(0)
    model = nn.Sequential(norm(4))
    sequence, weights = torch.randn(6, 4), torch.randn(6, 4)
    mine = slice(
        mesh.get_local_rank() * 6 // mesh.size(), (mesh.get_local_rank() + 1) * 6 // mesh.size()
    )
    (model(sequence[mine]) * weights[mine]).sum().backward()
    for parameter in model.parameters():
        if getattr(parameter, "sequence_parallel", False):
            dist.all_reduce(parameter.grad, group=mesh.get_group())


def wrong(mesh):
    train(mesh, nn.LayerNorm)


def right(mesh):
    train(mesh, Norm)


EXHIBIT = Exhibit(
    title="The norm that lost its mark",
    source="NVIDIA/Megatron-LM #1446, NVIDIA/TransformerEngine PR 1528",
    date="2025-03",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of 0.weight",
)
