"""The optimizer remembers the random weights.

An example of mixed precision made its copies in full precision when the model was built, and loaded
the checkpoint into the model afterwards. The first forward pass of the resumed run used the loaded
weights. The first step then wrote the copies back, which came from the random weights, and the
training began anew without a word. The loss of the first batch is right, which is all that most
people look at after a restart. The fix loads first.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, folder, steps, loads_first):
    torch.manual_seed(0)
    model = nn.Linear(4, 2).bfloat16()
    file, first = folder / "model.pt", 0
    if file.exists() and loads_first:
        first, weights = torch.load(file)
        model.load_state_dict(weights)
    masters = [parameter.detach().float() for parameter in model.parameters()]
    if file.exists() and not loads_first:
        first, weights = torch.load(file)
        model.load_state_dict(weights)
    batch = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))].bfloat16()
    for _ in range(first, steps):
        model.zero_grad()
        (model(batch).float().square().sum() / 8).backward()
        for master, parameter in zip(masters, model.parameters()):
            dist.all_reduce(parameter.grad, group=mesh.get_group())
            master.sub_(0.5 * parameter.grad.float())
            parameter.data.copy_(master)
            master.copy_(parameter.data)
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict()), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, loads_first=False)


def right(mesh, folder, steps):
    train(mesh, folder, steps, loads_first=True)


EXHIBIT = Exhibit(
    title="Full copies of random weights",
    source="NVIDIA/apex PR 42",
    date="2018-09-13",
    check=Resumed(layouts=[{"dp": 1}, {"dp": 1}], steps=(2, 4)),
    wrong=wrong,
    right=right,
    at_fault="output of Linear, time 3",
)
