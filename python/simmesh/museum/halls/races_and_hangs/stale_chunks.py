"""FSDP gathers weights on one stream, and copies them to their places on another. A test of
PyTorch's own collectives did both, and forgot that the second stream must wait for the first. It
compared what it found. Mostly the gather had ended by then, and the test passed. In 3 to 8 of 25
runs it read chunks of the step before. A test that fails now and then is called flaky, and people
run it again. It shows in each run: the line that reads, and the line that writes.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def unshard(waits):
    gather, copy = torch.cuda.Stream(), torch.cuda.Stream()
    gathered = torch.zeros(2 * dist.get_world_size(), device="cuda")
    shard = torch.ones(2, device="cuda") * dist.get_rank()
    gather.wait_stream(torch.cuda.current_stream())
    copy.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(gather):
        dist.all_gather_into_tensor(gathered, shard)
    if waits:
        copy.wait_stream(gather)
    with torch.cuda.stream(copy):
        weight = gathered.clone()
    torch.cuda.current_stream().wait_stream(copy)
    return weight.sum()


def wrong():
    return unshard(waits=False)


def right():
    return unshard(waits=True)


EXHIBIT = Exhibit(
    title="Three to eight of twenty-five",
    source="pytorch/pytorch #197827",
    date="2026-09",
    check=Accesses(ranks=2, options={"device": "cuda", "backend": "nccl"}),
    wrong=wrong,
    right=right,
    at_fault="weight = gathered.clone()",
)
