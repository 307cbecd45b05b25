"""With loss scaling, each step asks whether gradients have overflowed: is their sum a number? The
sum is on the GPU, the question is asked on the host. A change to DeepSpeed made that faster: it
copied the sum into a buffer of the host without waiting, and read the buffer in the same line.
What stands there is the sum of the step before. So a step with an overflow was taken, and the
good one behind it was skipped. A reviewer asked whether the value is that after the copy. It
wasn't, and the change was closed. It shows at the line that does both.
"""

import math

import torch

from simmesh.museum import Accesses, Exhibit


def has_overflowed(gradient, buffer, waits):
    buffer.copy_(gradient.sum(), non_blocking=True)
    if waits:
        torch.cuda.current_stream().synchronize()
    return not math.isfinite(float(buffer))


def steps(waits):
    buffer = torch.zeros(()).pin_memory()
    gradients = torch.tensor([[1.0, 2.0], [math.inf, 1.0]], device="cuda")
    return [has_overflowed(each, buffer, waits) for each in gradients]


def wrong():
    return steps(waits=False)


def right():
    return steps(waits=True)


EXHIBIT = Exhibit(
    title="The answer of the step before",
    source="deepspeedai/DeepSpeed PR 501",
    date="2020-11-05",
    check=Accesses(ranks=1, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="return not math.isfinite(float(buffer))",
)
