"""A rounding for each restart.

The model is in bfloat16 and the optimizer keeps copies in full precision. The checkpoint had the
model and the moments, not the copies: PyTorch's state of an optimizer has no parameters. After a
restart the copies were made anew from the rounded weights, and sixteen bits of each were gone. Each
restart costs one rounding, which no curve shows. Differences of that size pass for rounding in any
comparison with a tolerance. A run on the same ranks without a stop has other bits, which it must
not have.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def train(mesh, folder, steps, keeps_masters):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    masters = [parameter.detach().clone() for parameter in model.parameters()]
    model.bfloat16()
    file, first = folder / "model.pt", 0
    if file.exists():
        first, weights, kept = torch.load(file)
        model.load_state_dict(weights)
        masters = kept or [parameter.detach().float() for parameter in model.parameters()]
    for _ in range(first, steps):
        model.zero_grad()
        model(X.bfloat16()).float().square().mean().backward()
        for master, parameter in zip(masters, model.parameters()):
            master.sub_(0.001 * parameter.grad.float())
            parameter.data.copy_(master)
    if mesh.get_local_rank() == 0:
        torch.save((steps, model.state_dict(), masters if keeps_masters else None), file)
    dist.barrier()
    return masters


def wrong(mesh, folder, steps):
    return train(mesh, folder, steps, keeps_masters=False)


def right(mesh, folder, steps):
    return train(mesh, folder, steps, keeps_masters=True)


EXHIBIT = Exhibit(
    title="Sixteen bits that each restart forgets",
    source="TensorAuto/OpenTau #185",
    date="2026-04-25",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(2, 4)),
    wrong=wrong,
    right=right,
    at_fault="a run on the same ranks without a stop",
)
