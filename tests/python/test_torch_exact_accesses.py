"""Accesses to buffers under way are reported at the first one, in the first run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

import parallel_programs
import simmesh


def writes_the_buffer_of_an_all_reduce() -> None:
    x = torch.ones(4)
    work = dist.all_reduce(x, async_op=True)
    x.add_(1)
    work.wait()


def reads_the_result_of_an_all_reduce() -> None:
    x = torch.ones(4)
    work = dist.all_reduce(x, async_op=True)
    x[2:] + 1
    work.wait()


def reads_one_element() -> None:
    x = torch.ones(4)
    work = dist.all_reduce(x, async_op=True)
    x[1].item()
    work.wait()


def reads_the_parts_of_an_all_gather() -> None:
    parts = [torch.zeros(2) for _ in range(2)]
    work = dist.all_gather(parts, torch.ones(2), async_op=True)
    torch.stack(parts)
    work.wait()


def writes_the_input_of_an_all_gather() -> None:
    parts, own = [torch.zeros(2) for _ in range(2)], torch.ones(2)
    work = dist.all_gather(parts, own, async_op=True)
    own.zero_()
    work.wait()


def writes_what_is_sent() -> None:
    x, other = torch.ones(3), 1 - dist.get_rank()
    work = dist.isend(x, other)
    x.mul_(2)
    dist.recv(torch.zeros(3), other)
    work.wait()


def reads_what_is_received() -> None:
    x, other = torch.zeros(3), 1 - dist.get_rank()
    work = dist.irecv(x, other)
    x.sum()
    dist.send(torch.ones(3), other)
    work.wait()


def starts_another_operation_on_the_buffer() -> None:
    x = torch.ones(3)
    works = [dist.all_reduce(x, async_op=True), dist.broadcast(x, 0, async_op=True)]
    for work in works:
        work.wait()


def waits_too_late_for_a_reduce_scatter() -> None:
    result, x = torch.zeros(2), torch.ones(4)
    work = dist.reduce_scatter_tensor(result, x, async_op=True)
    result /= 2
    work.wait()


def waits_for_the_other_operation() -> None:
    x, y = torch.ones(3), torch.ones(3)
    first, second = dist.all_reduce(x, async_op=True), dist.all_reduce(y, async_op=True)
    second.wait()
    x + y
    first.wait()


def reads_a_functional_result() -> None:
    x = torch.ones(3)
    result = torch.ops._c10d_functional.all_reduce(x, "sum", dist.group.WORLD.group_name)
    result + 1
    torch.ops._c10d_functional.wait_tensor(result)


def writes_columns_of_an_all_to_all() -> None:
    x, result = torch.ones(2, 4), torch.zeros(2, 4)
    work = dist.all_to_all_single(result, x, async_op=True)
    x[:, 1].fill_(0)
    work.wait()


def changes_a_gradient_that_ddp_reduces() -> None:
    torch.manual_seed(0)
    layers = torch.nn.Sequential(*(torch.nn.Linear(3, 3, bias=False) for _ in range(2)))
    model = DistributedDataParallel(layers, gradient_as_bucket_view=True, bucket_cap_mb=1e-5)

    def halve(parameter: torch.Tensor) -> None:
        layers[1].weight.grad.mul_(0.5)

    for step in range(2):
        if step == 1:
            layers[0].weight.register_hook(halve)
        model(torch.ones(2, 3)).sum().backward()


RACES: list[tuple[Callable[[], None], str, str]] = [
    (writes_the_buffer_of_an_all_reduce, "add_.Tensor", "writes a tensor that allreduce"),
    (reads_the_result_of_an_all_reduce, "add.Tensor", "reads a tensor that allreduce"),
    (reads_one_element, "_local_scalar_dense", "reads a tensor that allreduce"),
    (reads_the_parts_of_an_all_gather, "stack", "reads a tensor that allgather"),
    (writes_the_input_of_an_all_gather, "zero_", "writes a tensor that allgather"),
    (writes_what_is_sent, "mul_.Tensor", "writes a tensor that send"),
    (reads_what_is_received, "sum", "reads a tensor that recv"),
    (starts_another_operation_on_the_buffer, "c10d::broadcast_", "a tensor that allreduce"),
    (waits_too_late_for_a_reduce_scatter, "div_.Tensor", "writes a tensor that "),
    (waits_for_the_other_operation, "add.Tensor", "reads a tensor that allreduce"),
    (reads_a_functional_result, "add.Tensor", "reads a tensor that all_reduce"),
    (writes_columns_of_an_all_to_all, "fill_.Scalar", "writes a tensor that alltoall_base"),
]


@pytest.mark.parametrize(("race", "operator", "text"), RACES)
def test_race_is_reported_in_the_first_run(
    race: Callable[[], None], operator: str, text: str
) -> None:
    """Would fail if an access that may come too early needed a schedule in which it does."""
    outcome = simmesh.spmd_run(race, world_size=2, local="exact").outcome
    assert isinstance(outcome.exception, RuntimeError), outcome.report
    message, first = str(outcome.exception), race.__code__.co_firstlineno
    assert f"{operator} at test_torch_exact_accesses.py:" in message
    assert text in message and "check_accesses=False" in message
    lines = [int(each.split(" ")[0].rstrip(":")) for each in message.split("accesses.py:")[1:]]
    assert len(lines) == 2 and all(first < line <= first + 12 for line in lines), message
    passed = simmesh.spmd_run(race, world_size=2, local="exact", check_accesses=False)
    assert passed.outcome.ok, passed.outcome.report


def healthy_views() -> None:
    """Other columns of a matrix, reads of an input, views, and waits of every kind."""
    x = torch.ones(4, 4)
    work = dist.all_reduce(x[0], async_op=True)
    x[1:].add_(1)
    x[0].view(2, 2)
    while not work.is_completed():
        pass
    x.sum()
    parts, own = [torch.zeros(4) for _ in range(2)], torch.ones(4)
    work = dist.all_gather(parts, own, async_op=True)
    own + 1
    work.get_future().wait()
    torch.stack(parts)
    functional.all_reduce(own, "sum", dist.group.WORLD) + 1
    with dist._coalescing_manager(async_ops=True) as manager:
        dist.all_reduce(own)
        dist.all_reduce(x)
    manager.wait()
    own.add_(x[0])


def comm_hooks() -> None:
    """DDP whose hook goes on in a callback of a future."""
    model = DistributedDataParallel(torch.nn.Linear(3, 3), gradient_as_bucket_view=True)
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    for _ in range(2):
        model(torch.ones(2, 3)).sum().backward()


def plain_ddp() -> None:
    """DDP with views of buckets, whose gradients are read when the backward pass has ended."""
    for is_view in (True, False):
        model = DistributedDataParallel(torch.nn.Linear(3, 3), gradient_as_bucket_view=is_view)
        for _ in range(2):
            model(torch.ones(2, 3)).sum().backward()
        model.module.weight.grad.mul_(2)


class Passing(TorchDispatchMode):
    """A mode of the program's own, which passes operators on."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def ddp_under_a_mode() -> None:
    """DDP in a mode of the program's own."""
    with Passing():
        plain_ddp()


@pytest.mark.parametrize("program", [healthy_views, comm_hooks, plain_ddp, ddp_under_a_mode])
def test_healthy_program_is_not_reported(program: Callable[[], None]) -> None:
    """Would fail if an access after a wait, or to other elements, were reported."""
    outcome = simmesh.spmd_run(program, world_size=2, local="exact").outcome
    assert outcome.ok, outcome.report


PROGRAMS: list[Any] = [
    parallel_programs.redistribute, parallel_programs.data_parallel,
    parallel_programs.fully_sharded_and_tensor_parallel, parallel_programs.hybrid_sharded,
    parallel_programs.pipeline, parallel_programs.mixed_precision,
    parallel_programs.compressed_gradients, parallel_programs.sharded_optimizer,
    parallel_programs.fully_sharded_by_wrapping, parallel_programs.uneven_inputs,
    parallel_programs.zero_bubble_pipeline, parallel_programs.sequence_parallel,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_torchs_own_code_is_not_reported(program: Callable[[], Any]) -> None:
    """Would fail if PyTorch's wrappers raised a false alarm, or called an unknown operator."""
    outcome = simmesh.spmd_run(program, world_size=4, local="exact").outcome
    assert outcome.ok, outcome.report


def test_gradient_under_way_in_ddp_is_reported() -> None:
    """Would fail if a hook could change a gradient that DDP reduces."""
    outcome = simmesh.spmd_run(
        changes_a_gradient_that_ddp_reduces, world_size=2, local="exact"
    ).outcome
    assert "mul_" in outcome.message and "writes a tensor that allreduce" in outcome.message


def test_threads_of_a_rank_call_side_by_side() -> None:
    """Would fail if the calls of one thread were counted as those of another."""

    def program() -> list[float]:
        group, found = dist.new_group([0, 1]), []

        def work() -> None:
            for i in range(3):
                tensor = torch.full((2,), float(dist.get_rank() + i))
                dist.all_reduce(tensor, group=group)
                found.append(tensor[1].item())

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(3):
            dist.all_reduce(torch.ones(1))
        thread.join()
        return found

    for schedule in ("fifo", "seeded:1"):
        ran = simmesh.spmd_run(program, world_size=2, schedule=schedule, local="exact")
        assert ran.outcome.ok, ran.outcome.report
        assert ran.results == [[1.0, 3.0, 5.0]] * 2
