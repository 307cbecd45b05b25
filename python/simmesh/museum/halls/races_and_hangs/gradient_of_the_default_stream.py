"""Megatron's sharded training has a stream for reduce-scatters. The main gradient was allocated
on the default stream, and consumed on that stream. It starts as zeros, and writing the zeros is
work, too. Nothing said that the reduce-scatter comes after it. If the zeros come late, they wipe
out what has been reduced. The project has a test of the loss for hybrid sharding; it doesn't see
it, unless something disturbs the GPU. It shows at once: two uses of one tensor on two streams,
and no wait between.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def reduce(waits):
    stream = torch.cuda.Stream()
    main_gradient = torch.zeros(2, device="cuda")
    if waits:
        stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        gradients = torch.ones(2 * dist.get_world_size(), device="cuda")
        part = torch.empty(2, device="cuda")
        dist.reduce_scatter_tensor(part, gradients)
        main_gradient += part
    torch.cuda.current_stream().wait_stream(stream)
    return main_gradient


def wrong():
    return reduce(waits=False)


def right():
    return reduce(waits=True)


EXHIBIT = Exhibit(
    title="Zeros that came late",
    source="NVIDIA/Megatron-LM PR 6187",
    date="2026-08-01",
    check=Accesses(ranks=2, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="main_gradient += part",
)
