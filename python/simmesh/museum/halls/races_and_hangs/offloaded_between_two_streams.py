"""Hybrid sharding reduces twice: a reduce-scatter within a node, an all-reduce between nodes.
With offload to the CPU the result is then copied to the host. PyTorch's FSDP2 allocated the
buffer on the stream of the first, and copied it on the stream of the second. Between the two the
buffer ended, and its memory went back to the first stream, which filled it again. Between 30 and
60 % of backward passes had corrupt gradients. Everyone without offload was well. It shows at the
line that gets the memory, and the line of the copy that still reads it.
"""

import torch

from simmesh.museum import Accesses, Exhibit


def backward(keeps):
    reduce_scatter, all_reduce = torch.cuda.Stream(), torch.cuda.Stream()
    on_host, kept = [torch.zeros(4).pin_memory() for _ in range(2)], []
    for layer in range(2):
        with torch.cuda.stream(reduce_scatter):
            buffer = torch.full((4,), float(layer), device="cuda")
        all_reduce.wait_stream(reduce_scatter)
        with torch.cuda.stream(all_reduce):
            on_host[layer].copy_(buffer, non_blocking=True)
        if keeps:
            kept.append(buffer)
        del buffer
    torch.cuda.synchronize()
    return torch.cat(on_host)


def wrong():
    return backward(keeps=False)


def right():
    return backward(keeps=True)


EXHIBIT = Exhibit(
    title="Filled again before it was copied",
    source="pytorch/pytorch PR 180665",
    date="2026-04-17",
    check=Accesses(ranks=2, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="on_host[layer].copy_(buffer, non_blocking=True)",
)
