"""A sharded optimizer keeps gradients beside the parameters, and puts each rank's shard into
``.grad`` when it steps. For float16 the loss is scaled, and gradients have to be divided by the
scale before the step. ColossalAI divided first and put the shards in place afterwards: at that
moment every ``.grad`` was None, and the loop passed over it. So the step took gradients that were
larger by the scale. AdamW hardly notices a factor that is always there, so trainings went well
enough. Weight decay and clipping don't work as asked. It shows in the gradient before the step.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class ShardedOptimizer:
    def __init__(self, model, mesh, scale, prepares_first):
        self.model, self.mesh, self.scale = model, mesh, scale
        self.prepares_first, self.kept = prepares_first, []
        self.inner = torch.optim.AdamW(model.parameters(), lr=0.1)

    def backward(self, loss):
        (loss * self.scale).backward()
        if self.mesh.size() > 1:
            self.kept = [parameter.grad for parameter in self.model.parameters()]
            for gradient in self.kept:
                dist.all_reduce(gradient, group=self.mesh.get_group())
            self.inner.zero_grad()

    def prepare(self):
        for parameter, gradient in zip(self.model.parameters(), self.kept):
            parameter.grad = gradient

    def unscale(self):
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad /= self.scale

    def step(self):
        if self.prepares_first:
            self.prepare()
        self.unscale()
        self.prepare()
        self.inner.step()


def train(mesh, prepares_first):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = ShardedOptimizer(model, mesh, 1024.0, prepares_first)
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    optimizer.backward(model(mine).square().sum() / len(X))
    optimizer.step()


def wrong(mesh):
    train(mesh, prepares_first=False)


def right(mesh):
    train(mesh, prepares_first=True)


EXHIBIT = Exhibit(
    title="Unscaled before the gradients are there",
    source="hpcaitech/ColossalAI #1218",
    date="2022-07-07",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
