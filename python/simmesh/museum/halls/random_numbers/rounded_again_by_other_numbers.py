"""Rounded twice, by other dice.

Weights in half precision are rounded from full copies by chance, so that small steps survive on
average. A checkpoint keeps the copies and the state of the generator, and a restart rounds the
copies again. The state that was saved is the one after the step, so the restart draws other numbers
than the step had drawn, and the model that goes on is not the model that stopped. Each weight
differs by one unit in the last place, if at all. The fix also saves the state from before the step.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, Resumed

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1)).bfloat16()


def rounded(master, generator):
    bits = master.view(torch.int32)
    noise = torch.randint(2**16, bits.shape, dtype=torch.int32, generator=generator)
    return ((bits + noise) & -(2**16)).view(torch.float32).bfloat16()


def train(mesh, folder, steps, number_of_state):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    masters = [parameter.detach().clone() for parameter in model.parameters()]
    model.bfloat16()
    generator = torch.Generator().manual_seed(5)
    file, first, states = folder / "state.pt", 0, [generator.get_state()] * 2
    if file.exists():
        first, masters, states = torch.load(file)
        generator.set_state(states[number_of_state])
        for master, parameter in zip(masters, model.parameters()):
            parameter.data.copy_(rounded(master, generator))
        generator.set_state(states[1])
    for _ in range(first, steps):
        model.zero_grad()
        model(X).float().square().mean().backward()
        states = [generator.get_state()]
        for master, parameter in zip(masters, model.parameters()):
            master.sub_(0.01 * parameter.grad.float())
            parameter.data.copy_(rounded(master, generator))
        states.append(generator.get_state())
    if dist.get_rank() == 0:
        torch.save((steps, masters, states), file)
    dist.barrier()


def wrong(mesh, folder, steps):
    train(mesh, folder, steps, number_of_state=1)


def right(mesh, folder, steps):
    train(mesh, folder, steps, number_of_state=0)


EXHIBIT = Exhibit(
    title="Rounded again by other numbers",
    source="karpathy/llm.c PR 702",
    date="2024-07-20",
    check=Resumed(layouts=[{"dp": 2}, {"dp": 2}], steps=(2, 4)),
    wrong=wrong,
    right=right,
    at_fault="output of Linear, time 3",
)
