"""DeepSpeed overlaps: gradients are averaged on a stream of their own, while backward goes on.
Buffers for that came from the stream of the backward pass. When Python had no name for one any
more, its memory went back there, and the next layer got it. But the reduction stream had not read
it yet, and no one had told the allocator: that is what ``record_stream`` is for. The average of
one layer was made of another layer's numbers. A report has NaN in the third step, with stage 2
alone, and only with overlap. It shows at the line that gets the memory, and the line that still
reads it.
"""

import torch

from simmesh.museum import Accesses, Exhibit


def backward(records):
    reduction = torch.cuda.Stream()
    averages = torch.zeros(2, 4, device="cuda")
    reduction.wait_stream(torch.cuda.current_stream())
    for layer in range(2):
        buffer = torch.full((4,), float(layer), device="cuda")
        reduction.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(reduction):
            averages[layer].copy_(buffer / 2)
        if records:
            buffer.record_stream(reduction)
        del buffer
    torch.cuda.current_stream().wait_stream(reduction)
    return averages


def wrong():
    return backward(records=False)


def right():
    return backward(records=True)


EXHIBIT = Exhibit(
    title="The buffer that ended while it was read",
    source="deepspeedai/DeepSpeed PR 7965",
    date="2026-04-11",
    check=Accesses(ranks=2, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="averages[layer].copy_(buffer / 2)",
)
