"""A plan says what happens to the inputs of a layer: this argument is to be gathered, that one
stays. torchtitan's plan for a layer names its arguments. Then someone gave an argument of the
layer a better name. The plan kept the old one. An entry for an argument that isn't there does
nothing, so nothing was gathered any more. The layer ran on a part of the sequence. It shows in
the output of the layer.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class Mixer(nn.Module):
    def forward(self, x, memory):
        return (x @ memory.t()).softmax(-1) @ memory


def planned(layer, mesh, gathered):
    def gather(module, arguments, named):
        for name in gathered:
            if name in named:
                named[name] = DTensor.from_local(named[name], mesh, [Shard(0)]).full_tensor()
        return arguments, named

    layer.register_forward_pre_hook(gather, with_kwargs=True)
    return layer


def run(mesh, gathered):
    torch.manual_seed(0)
    layer = planned(Mixer(), mesh, gathered)
    mine = torch.randn(4, 3).chunk(mesh.size())[mesh.get_local_rank()]
    layer(mine, memory=mine)


def wrong(mesh):
    run(mesh, gathered=["context"])


def right(mesh):
    run(mesh, gathered=["memory"])


EXHIBIT = Exhibit(
    title="A plan for an old name",
    source="pytorch/torchtitan PR 3708",
    date="2026-06-17",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of Mixer",
)
