"""A model has layers with experts and layers without. Context parallelism cuts the sequence for
all. Attention must then gather keys and values, in every layer. Automodel set that up in one of
two branches: with expert parallelism on, only layers with experts got it. The dense layers of the
same model attended to their own part of the sequence, as if it were all. Each token saw half of
what it should see. The loss falls all the same, a little less. It shows in the output of the
first dense layer.
"""

import torch
from torch import nn
from torch.distributed.tensor import DTensor, Partial, Shard

from simmesh.museum import Exhibit, SameAsOneDevice


class Layer(nn.Module):
    mesh = None

    def __init__(self, has_experts):
        super().__init__()
        self.has_experts = has_experts
        self.values = nn.Linear(3, 3)

    def forward(self, x):
        keys, values = x, self.values(x)
        if self.mesh is not None:
            keys, values = (self.gathered(each) for each in (keys, values))
        return (x @ keys.t()).softmax(-1) @ values

    def gathered(self, part):
        whole = DTensor.from_local(part, self.mesh, [Shard(0)])
        return whole.full_tensor(grad_placements=[Partial()])


def train(mesh, layers_to_set_up):
    torch.manual_seed(0)
    model = nn.Sequential(Layer(has_experts=False), Layer(has_experts=True))
    for layer in layers_to_set_up(model):
        layer.mesh = mesh
    model(torch.randn(6, 3).chunk(mesh.size())[mesh.get_local_rank()])


def wrong(mesh):
    train(mesh, lambda model: [layer for layer in model if layer.has_experts])


def right(mesh):
    train(mesh, lambda model: model)


EXHIBIT = Exhibit(
    title="Layers that saw half of the text",
    source="NVIDIA-NeMo/Automodel #3507",
    date="2026-08-12",
    check=SameAsOneDevice(layouts=[{"cp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="output of 0",
)
