"""A training in float16 multiplies its loss by a scale, and learns by overflows how large it may
be. The Well's checkpoints had neither the scale nor the schedule of the learning rate. After a load
the scale begins at its first value. It overflows, and the step is skipped, and the next one too,
until the scale is where it was. Steps are lost at every restart, and the moments of the optimizer
hear nothing of these rows. A user compared a training that was interrupted with one that wasn't. It
shows in the first parameters after the load.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh import rows_of
from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, folder, steps, saves_scale):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**126, backoff_factor=2.0**-4)
    file, first = folder / "state.pt", 0
    if file.exists():
        first, states = torch.load(file)
        model.load_state_dict(states["model"])
        optimizer.load_state_dict(states["optimizer"])
        if "scaler" in states:
            scaler.load_state_dict(states["scaler"])
    mine = X[rows_of(mesh.get_local_rank(), mesh.size(), len(X))]
    for _ in range(first, steps):
        optimizer.zero_grad()
        loss = (model(mine) - 8).square().sum() / len(X)
        scaler.scale(loss).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group())
        scaler.step(optimizer)
        scaler.update()
    if mesh.get_local_rank() == 0:
        states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        if saves_scale:
            states["scaler"] = scaler.state_dict()
        torch.save((steps, states), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, saves_scale=False)


def right(mesh, folder, steps):
    train(mesh, folder, steps, saves_scale=True)


EXHIBIT = Exhibit(
    title="The loss scale learns again at each restart",
    source="PolymathicAI/the_well #77",
    date="2026-02-09",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(3, 5)),
    wrong=wrong,
    right=right,
    at_fault="initial parameter Linear.weight",
)
