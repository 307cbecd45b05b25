"""Float16 needs a scale. If any gradient overflows on any rank, all ranks must skip the step.
FSDP's scaler adds the flag up over ranks, in the background. For gradients on the host it copied
the flag first and waited afterwards. So the rank with the overflow skipped, and the others took the
step and kept the scale. From then on ranks have other weights and other scales. It needs gradients
on the host and an overflow, so it took a test that makes one on rank 0. It shows at the line that
reads the flag, without any overflow.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Accesses, Exhibit


def has_overflow(mesh, waits_first):
    gradient = torch.ones(4)
    flag = gradient.isinf().any().float()
    work = dist.all_reduce(flag, group=mesh.get_group(), async_op=True)
    if waits_first:
        work.wait()
    on_host = flag.clone()
    work.wait()
    return on_host


def wrong(mesh):
    has_overflow(mesh, waits_first=False)


def right(mesh):
    has_overflow(mesh, waits_first=True)


EXHIBIT = Exhibit(
    title="The overflow is read before it has arrived",
    source="pytorch/pytorch PR 115710",
    date="2023-12-12",
    check=Accesses(),
    wrong=wrong,
    right=right,
    at_fault="on_host = flag.clone()",
)
