"""A training step divides its loss by the number of micro-batches, so that their number doesn't
matter. The auxiliary loss of the experts came in by another way: the layer added its gradient by
itself. Automodel divided the first, and not the second. With 8 micro-batches a step the experts
were pushed to be balanced 8 times as hard as the settings say. The model's own loss suffers a
little, and no one knows from what. It shows in the gradient of the router, when one device takes
the same batch at once.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice


class AddBalance(torch.autograd.Function):
    """Gives scores an additional gradient."""

    @staticmethod
    def forward(ctx, scores, gradient):
        ctx.gradient = gradient
        return scores.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient + ctx.gradient, None


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(3, 4, bias=False)

    def forward(self, tokens, weight):
        scores = self.gate(tokens).softmax(-1)
        return AddBalance.apply(scores, scores.detach() * weight).square().sum()


def train(mesh, weight):
    torch.manual_seed(0)
    model = Model()
    mine = torch.randn(8, 3).chunk(mesh.size())[mesh.get_local_rank()]
    micro_batches = mine.chunk(1 if mesh.size() == 1 else 2)
    for tokens in micro_batches:
        loss = model(tokens, weight(len(micro_batches)))
        (loss / len(micro_batches)).backward()
    dist.all_reduce(model.gate.weight.grad, group=mesh.get_group())
    model.gate.weight.grad *= len(micro_batches)
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, lambda micro_batches: 1)


def right(mesh):
    train(mesh, lambda micro_batches: 1 / micro_batches)


EXHIBIT = Exhibit(
    title="Pushed once a micro-batch",
    source="NVIDIA-NeMo/Automodel PR 3359",
    date="2026-08-07",
    check=SameAsOneDevice(layouts=[{"dp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of gate.weight",
)
