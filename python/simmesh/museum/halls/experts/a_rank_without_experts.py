"""Clipping needs the norm of all gradients. torchtitan computes that of experts and that of the
rest apart, since they lie on other meshes, and adds them up over the pipeline. The first layers
of a model have no experts, so a rank of the pipeline may have none either. With an empty list it
took another path: one norm, one reduction. Its peers took two. Their second call waits for a rank
that has gone on to something else. It shows as two different calls that meet, with the lines of
both.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def reduced(gradients):
    square = sum((each.square().sum() for each in gradients), torch.zeros(()))
    dist.all_reduce(square)
    return square


def norm_by_paths(rest, experts):
    if not experts:
        return reduced(rest).sqrt()
    return (reduced(rest) + reduced(experts)).sqrt()


def norm(rest, experts):
    return (reduced(rest) + reduced(experts)).sqrt()


def step(norm):
    rest, experts = [torch.ones(2)], [] if dist.get_rank() == 0 else [torch.ones(3)]
    total = norm(rest, experts)
    dist.barrier()
    return total


def wrong():
    return step(norm_by_paths)


def right():
    return step(norm)


EXHIBIT = Exhibit(
    title="A stage without experts",
    source="pytorch/torchtitan PR 1689",
    date="2025-09-11",
    check=Schedules(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="dist.all_reduce(square)",
)
