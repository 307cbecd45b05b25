"""DeepSpeed reduces gradients bucket by bucket, with two buffers: while one is reduced the other
is filled. An index says whose turn it is. Clearing a bucket put the index back to 0. So the next
bucket was written into the buffer that was still being reduced. What came out was a mix of two
buckets, at times, on some machines. The first cure made the buffers wait for each other, and so
switched off the overlap for which there are two. It was noticed by somebody who measured, five
months later. It shows at the line that fills the buffer, and the line of the reduction that is
under way.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


class Buckets:
    def __init__(self, resets_index):
        self.buffers, self.works = [torch.zeros(2), torch.zeros(2)], [None, None]
        self.index, self.resets_index = 0, resets_index

    def reduce(self, gradient):
        buffer, work = self.buffers[self.index], self.works[self.index]
        if work is not None and not self.resets_index:
            work.wait()
        buffer.copy_(gradient)
        self.works[self.index] = dist.all_reduce(buffer, async_op=True)
        self.index = 0 if self.resets_index else 1 - self.index

    def wait(self):
        for work in self.works:
            if work is not None:
                work.wait()
        return torch.cat(self.buffers)


def step(resets_index):
    buckets = Buckets(resets_index)
    for gradient in torch.ones(3, 2):
        buckets.reduce(gradient)
    return buckets.wait()


def wrong():
    return step(resets_index=True)


def right():
    return step(resets_index=False)


EXHIBIT = Exhibit(
    title="Two buckets in one buffer",
    source="deepspeedai/DeepSpeed PR 7371, PR 7805",
    date="2025-08",
    check=Accesses(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="buffer.copy_(gradient)",
)
