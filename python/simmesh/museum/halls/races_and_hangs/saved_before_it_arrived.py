"""To save a checkpoint, weights are copied from the GPU to the host, and the host writes them to
a file. ``non_blocking=True`` makes the copy return at once, so that many copies run together. A
reader of Megatron's checkpoint code asked in 2024 where it waits for them before it writes. It
didn't. The file may get what was in the host's memory before. The answer came with the cure: one
``torch.cuda.synchronize()`` behind the copies. It shows at the line that reads on the host, and
the line of the copy.
"""

import torch

from simmesh.museum import Accesses, Exhibit


def save(waits):
    weights = [torch.full((2,), float(layer), device="cuda") for layer in range(2)]
    on_host = [weight.to("cpu", non_blocking=True) for weight in weights]
    if waits:
        torch.cuda.synchronize()
    return torch.cat(on_host)


def wrong():
    return save(waits=False)


def right():
    return save(waits=True)


EXHIBIT = Exhibit(
    title="Saved before it arrived",
    source="NVIDIA/Megatron-LM #833",
    date="2024-05-22",
    check=Accesses(ranks=1, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="return torch.cat(on_host)",
)
