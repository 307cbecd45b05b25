"""An encoder and a language model train as one, on ranks of their own. Each has an optimizer with a
loss scale for float16. The last one scales the loss; the gradient flows back to the encoder, which
divides it by its own scale. When the encoder alone overflows, all ranks agree to skip the step. But
the encoder has lowered its scale by then, and the other one hasn't. From the next step on the
encoder divides by half of what the loss was multiplied with. The report measures the scales 4 and
8. Nothing fails, and the encoder learns at twice the rate.
"""

import torch
import torch.distributed as dist
from torch import nn

from simmesh.museum import Exhibit, SameAsOneDevice

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
ENCODER, DECODER = 0, 1


class Scale:
    """A loss scale for all modules of this rank."""

    def __init__(self, modules):
        self.value = dict.fromkeys(modules, 8.0)

    def halve(self, module):
        self.value[module] /= 2


def on_rank(module, mesh):
    return module % mesh.size() == mesh.get_local_rank()


def exchanged(value, mesh, source):
    if mesh.size() > 1:
        dist.broadcast(value, src=source, group=mesh.get_group())
    return value


def train(mesh, agrees):
    torch.manual_seed(0)
    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 1)
    scale = Scale([ENCODER, DECODER])
    here = [module for module in (ENCODER, DECODER) if on_rank(module, mesh)]
    for overflows in (True, False):
        hidden = encoder(X) if on_rank(ENCODER, mesh) else torch.empty(4, 3)
        received = exchanged(hidden.detach().clone(), mesh, ENCODER).requires_grad_()
        if on_rank(DECODER, mesh):
            (decoder(received).square().mean() * scale.value[DECODER]).backward()
        gradient = received.grad if received.grad is not None else torch.empty(4, 3)
        gradient = exchanged(gradient, mesh, DECODER)
        if overflows:
            for module in (ENCODER, DECODER) if agrees or len(here) == 2 else (ENCODER,):
                scale.halve(module)
            encoder.zero_grad()
            decoder.zero_grad()
        elif on_rank(ENCODER, mesh):
            hidden.backward(gradient)
            for parameter in encoder.parameters():
                parameter.grad /= scale.value[ENCODER]
    if on_rank(ENCODER, mesh):
        torch.optim.SGD(encoder.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, agrees=False)


def right(mesh):
    train(mesh, agrees=True)


EXHIBIT = Exhibit(
    title="Two modules, two loss scales",
    source="NVIDIA-NeMo/Megatron-Bridge PR 5591",
    date="2026-08-15",
    check=SameAsOneDevice(layouts=[{"pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="gradient of Linear",
)
