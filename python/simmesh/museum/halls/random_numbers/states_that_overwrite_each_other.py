"""A checkpoint keeps the state of the random generator, so that a resumed run draws what would
have come. Each rank has a state of its own. Automodel stored them under a name that several ranks
have alike: the rank within its data-parallel group, not the rank among all. So the state that is
stored is that of the last one to write, and all ranks of the name resume with it. The title of
the change says that states must be saved by global rank; the program here is ours. It shows when
a rank draws again after loading.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, SameAsOneDevice


def saved_and_loaded(mesh, key):
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, (key, torch.get_rng_state()))
    return dict(states)[key]


def train(mesh, key):
    torch.manual_seed(100 + mesh["pp"].get_local_rank())
    expected = torch.get_rng_state()
    loaded = saved_and_loaded(mesh, key(mesh))
    return (loaded != expected).sum()


def wrong(mesh):
    return train(mesh, lambda mesh: mesh["dp"].get_local_rank())


def right(mesh):
    return train(mesh, lambda mesh: dist.get_rank())


EXHIBIT = Exhibit(
    title="The last one to write",
    source="NVIDIA-NeMo/Automodel PR 3437",
    date="2026-08-09",
    check=SameAsOneDevice(layouts=[{"dp": 2, "pp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="returned value",
)
