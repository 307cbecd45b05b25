"""Exact operators on ranks that are processes: what stands behind elements goes along."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

import process_programs
import simmesh

PROGRAMS = (
    process_programs.collectives, process_programs.started_together,
    process_programs.data_parallel, process_programs.fully_sharded,
    process_programs.distributed_tensors,
)  # fmt: skip


def hashes(program: Callable[[], Any], seats: str, **options: Any) -> Any:
    """Everything that tells two runs apart."""
    ran = simmesh.spmd_run(program, world_size=4, seats=seats, local="exact", **options)
    assert ran.outcome.ok, ran.outcome.report
    return ran.outcome.data_hash, ran.outcome.schedule_hash, ran.outcome.choices


@pytest.mark.parametrize("program", PROGRAMS)
def test_runs_are_those_of_threads(program: Callable[[], Any]) -> None:
    """Fails if a collective rounds what a process gives or gets, or if the schedule differs."""
    for schedule in ("fifo", "seeded:5"):
        expected = hashes(program, "threads", schedule=schedule)
        assert hashes(program, "processes", schedule=schedule) == expected


def cancels() -> list[Any]:
    """Sums that only exact values survive: of an all-reduce in place, of a message, of a part of a
    storage, of roots, and of numbers that no pair of doubles holds.
    """
    rank = dist.get_rank()
    large = torch.tensor([1e20, 1.0, 3.0, 1e-20]) * (1 if rank % 2 else -1)
    own = large / 3 + (rank + 1) / 7
    dist.all_reduce(own)
    whole = torch.zeros(8)
    part = whole[2:6].view(2, 2).t()
    part.copy_((own / 3).view(2, 2))
    dist.all_reduce(whole[2:6])
    received = torch.zeros(4)
    if rank == 0:
        dist.send(whole[2:6] / 11, 1)
    elif rank == 1:
        dist.recv(received, 0)
    norm = torch.linalg.vector_norm(own.double().float() / 5)
    dist.all_reduce(norm)
    wide = torch.tensor([1e30, 1e-30]).sum() * torch.tensor(1 / 3)
    dist.broadcast(wide, 2)
    return [own, whole, received * 11 - whole[2:6], norm, wide - 1e30 * torch.tensor(1 / 3)]


def test_values_survive_cancellation() -> None:
    """Fails if the values behind operands, results, views and roots are lost on the way."""
    expected = hashes(cancels, "threads")
    assert hashes(cancels, "processes") == expected
    plain = simmesh.spmd_run(cancels, world_size=4, seats="processes")
    assert plain.outcome.ok and plain.outcome.data_hash != expected[0]


def writes_early() -> torch.Tensor:
    gradient = torch.full((3,), 1 / 3) / (dist.get_rank() + 3)
    work = dist.all_reduce(gradient, async_op=True)
    gradient *= 0.1
    dist.barrier()
    assert work is not None
    work.wait()
    return gradient * 3


def test_values_are_those_when_the_last_member_comes() -> None:
    """Fails if values are read when an operation starts, and elements later."""
    seen = set()
    for seed in range(8):
        options = {"schedule": f"seeded:{seed}", "check_accesses": False}
        expected = hashes(writes_early, "threads", **options)
        assert hashes(writes_early, "processes", **options) == expected
        seen.add(expected[0])
    assert len(seen) > 1


def test_an_access_that_comes_too_early_is_reported() -> None:
    """Fails if a process doesn't look at the operations that it has started."""
    reports = []
    for seats in ("threads", "processes"):
        ran = simmesh.spmd_run(
            process_programs.writes_too_early, world_size=2, local="exact", seats=seats
        )
        assert ran.outcome.kind == "error"
        reports.append(ran.outcome.message)
    assert reports[0] == reports[1]
    assert "expected a wait for that operation first" in reports[0]


def train(mesh: Any, scale: float = 1.0) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.LayerNorm(5), torch.nn.Linear(5, 3))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    rows = torch.randn(8, 6).chunk(mesh.size())[mesh.get_rank()]
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(rows).pow(2).mean()
        (loss * (scale if mesh.size() > 1 else 1.0)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def test_one_device_is_compared() -> None:
    """Fails if what a process notes is lost with it, or differs from what a thread notes."""
    one = simmesh.same_as_one_device(train, ranks=4)
    other = simmesh.same_as_one_device(train, ranks=4, seats="processes")
    assert other.equal and other.text == one.text


def test_a_difference_is_explained_as_on_threads() -> None:
    """Fails if the operator at fault is not found in the calls of a process."""
    reports = []
    for seats in ("threads", "processes"):
        with pytest.raises(simmesh.DiffersFromOneDevice) as failure:
            simmesh.same_as_one_device(lambda mesh: train(mesh, 3.0), ranks=2, seats=seats)
        reports.append(str(failure.value))
    assert reports[0] == reports[1]


def test_what_is_compiled_is_computed_exactly() -> None:
    """Fails if a compiler, which a process has for itself, took operators out of the mode."""

    def program() -> tuple[int, float]:
        graphs: list[Any] = []

        def backend(graph: Any, inputs: Any) -> Any:
            graphs.append(graph)
            return graph.forward

        large = torch.tensor([1e20, 1.0, -1e20])
        return len(graphs), torch.compile(torch.sum, backend=backend)(large).item()

    ran = simmesh.spmd_run(program, world_size=2, seats="processes", local="exact")
    assert ran.results == [(0, 1.0)] * 2, ran.outcome.report
