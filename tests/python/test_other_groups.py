"""Groups that are not simmesh's: those of PyTorch's fake backend, with which programs try a large
world on one rank, and those of a backend that the program registers.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from simmesh.torch import run


def test_a_world_of_the_fake_backend_may_be_larger_than_the_run() -> None:
    """Would fail if the ranks of a fake world had to exist, or if its calls waited for anyone."""

    def body(rank: int) -> tuple[int, ...]:
        size = 64 if rank == 0 else 8
        dist.init_process_group("fake", store=FakeStore(), rank=size - 1, world_size=size)
        mesh = init_device_mesh("cpu", (2, size // 2))
        tensor = distribute_tensor(torch.ones(size, 4), mesh, [Shard(0), Replicate()])
        whole = tensor.redistribute(mesh, [Replicate(), Replicate()]).to_local()
        half = dist.new_group(list(range(size // 2, size)))
        with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
            for _ in range(2):
                dist.all_reduce(torch.ones(1))
        manager.wait()
        assert dist.get_backend(half) == dist.get_backend() == "fake"
        dist.destroy_process_group()
        return (dist.is_initialized(), *whole.shape)

    ran = run(body, 2)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [(False, 64, 4), (False, 8, 4)]


def test_a_fake_group_in_a_world_of_ranks() -> None:
    """Would fail if a fake group of some ranks exchanged data, or took other groups with it."""

    def body(rank: int) -> tuple[float, float]:
        dist.init_process_group("gloo", rank=rank, world_size=4)
        fake = dist.new_group([0, 1, 2, 3], backend="fake")
        apart, together = torch.tensor([float(rank)]), torch.tensor([float(rank)])
        dist.all_reduce(apart, group=fake)
        dist.all_reduce(together)
        return apart.item(), together.item()

    ran = run(body, 4)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [(0.0, 6.0), (1.0, 6.0), (2.0, 6.0), (3.0, 6.0)]


def test_a_group_of_ranks_in_a_fake_world_is_refused() -> None:
    """Would fail if such a group ended in a KeyError."""

    def body(rank: int) -> None:
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=8)
        dist.new_group([0, 1], backend="gloo")

    outcome = run(body, 2).outcome
    assert not outcome.ok
    assert "expected the backend of the default group" in outcome.report


def test_a_group_has_the_name_of_its_backend() -> None:
    """Would fail if a group of ranks showed that its backend is another one inside."""

    def body(rank: int) -> list[str]:
        dist.init_process_group("cpu:gloo,cuda:nccl", rank=rank, world_size=2)
        groups = [dist.new_group([0, 1], backend=name) for name in ("gloo", "nccl", "fake")]
        return [each.name() for each in (dist.group.WORLD, *groups)]

    ran = run(body, 2)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [["gloo", "gloo", "nccl", "custom"]] * 2


class Tenfold(dist.ProcessGroup):
    """A group in Python that multiplies what it reduces by ten."""

    def getBackendName(self) -> str:
        return "tenfold"

    def allreduce(self, tensors: list[torch.Tensor], options: object = None) -> dist.Work:
        for tensor in tensors:
            tensor.mul_(10)
        future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
        future.set_result(tensors)
        return torch._C._distributed_c10d._create_work_from_future(future)


def test_a_backend_that_a_rank_registers_is_its_own() -> None:
    """Would fail if a rank saw the backend of another rank or of an earlier run, or if simmesh's
    collectives replaced the program's own.
    """

    def body(rank: int) -> tuple[bool, str, float]:
        seen = dist.is_backend_available("tenfold")
        name = "tenfold" if rank < 2 else "gloo"
        if rank < 2:
            dist.Backend.register_backend(
                "tenfold", lambda store, rank, size, timeout: Tenfold(rank, size), devices="cpu"
            )
        dist.init_process_group(name, rank=rank % 2, world_size=2, init_method=f"tcp://{name}:1")
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        return seen, dist.get_backend(), tensor.item()

    for _ in range(2):
        ran = run(body, 4)
        assert ran.outcome.ok, ran.outcome.report
        assert ran.results == [(False, "tenfold", 10.0)] * 2 + [(False, "gloo", 2.0)] * 2
    assert not dist.is_backend_available("tenfold")
