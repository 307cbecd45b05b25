"""Uses of a tensor on two streams that nothing orders are reported, and ordered ones aren't."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

import simmesh
from simmesh.torch import rank_state

CUDA = "cuda"


def made() -> torch.Tensor:
    return torch.ones(4, device=CUDA) * 2


def reads_too_early() -> None:
    x, side = made(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        x + 1


def result_is_read_too_early() -> None:
    x, side = made(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x + 1
    y * 2


def writes_what_is_read() -> None:
    x, side = made(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x + 1
    x.zero_()


def waits_for_an_earlier_event() -> None:
    side, event = torch.cuda.Stream(), torch.cuda.Event()
    event.record()
    x = made()
    side.wait_event(event)
    with torch.cuda.stream(side):
        x + 1


def waits_for_a_third_stream() -> None:
    x, side, third = made(), torch.cuda.Stream(), torch.cuda.Stream()
    side.wait_stream(third)
    with torch.cuda.stream(side):
        x + 1


def memory_is_given_away() -> None:
    x, side = made(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x + 1
    del x
    made()


def host_reads_too_early() -> None:
    made().to("cpu", non_blocking=True) + 1


def host_lists_too_early() -> None:
    made().to("cpu", non_blocking=True).tolist()


def host_buffer_is_read_too_early() -> None:
    host = torch.zeros(4).pin_memory()
    host.copy_(made(), non_blocking=True)
    host.sum()


def host_writes_too_early() -> None:
    host = torch.ones(4).pin_memory()
    host.to(CUDA, non_blocking=True)
    host.zero_()


def reads_a_result_under_way() -> None:
    x = made()
    work = dist.all_reduce(x, async_op=True)
    x + 1
    work.wait()


def reduces_on_a_side_stream() -> None:
    x, side = made(), torch.cuda.Stream()
    with torch.cuda.stream(side):
        dist.all_reduce(x)


def waits_on_another_stream() -> None:
    x, side = made(), torch.cuda.Stream()
    work = dist.all_reduce(x, async_op=True)
    with torch.cuda.stream(side):
        work.wait()
    x + 1


WRONG = [
    (reads_too_early, "aten.add", "reads", "aten.mul"),
    (result_is_read_too_early, "aten.mul", "reads", "aten.add"),
    (writes_what_is_read, "aten.zero_", "writes", "aten.add"),
    (waits_for_an_earlier_event, "aten.add", "reads", "aten.mul"),
    (waits_for_a_third_stream, "aten.add", "reads", "aten.mul"),
    (memory_is_given_away, "a new tensor", "may get", "aten.add"),
    (host_reads_too_early, "aten.add", "reads", "the copy to the host"),
    (host_lists_too_early, "the host's read", "reads", "the copy to the host"),
    (host_buffer_is_read_too_early, "aten.sum", "reads", "aten.copy_"),
    (host_writes_too_early, "aten.zero_", "writes", "the copy to a device"),
    (reads_a_result_under_way, "aten.add", "reads", "allreduce"),
    (reduces_on_a_side_stream, "allreduce", "writes", "aten.mul"),
    (waits_on_another_stream, "aten.add", "reads", "allreduce"),
]


@pytest.mark.parametrize("local", ["plain", "exact"])
@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: each[0].__name__)
def test_uses_that_nothing_orders(
    wrong: tuple[Callable[[], None], str, str, str], local: str
) -> None:
    """Would fail if one of the two uses, or its line, weren't told."""
    program, use, verb, earlier = wrong
    ran = simmesh.spmd_run(program, world_size=2, device=CUDA, backend="nccl", local=local)
    told = str(ran.outcome.exception)
    assert told.startswith(f"[torch/cuda] rank 0: {use} at test_torch_cuda_streams.py:"), told
    assert verb in told and f"{earlier} at test_torch_cuda_streams.py:" in told, told
    ran = simmesh.spmd_run(
        program, world_size=2, device=CUDA, backend="nccl", local=local, check_accesses=False
    )
    assert ran.outcome.ok


def waits_for_streams() -> torch.Tensor:
    x, side, main = made(), torch.cuda.Stream(), torch.cuda.current_stream()
    for _ in range(2):
        side.wait_stream(main)
        with torch.cuda.stream(side):
            y = x + 1
        main.wait_stream(side)
        x = x + y
    return x.cpu()


def waits_for_events() -> torch.Tensor:
    x, side, event, back = made(), torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()
    event.record()
    side.wait_event(event)
    with torch.cuda.stream(side):
        y = x + 1
        back.record()
    back.wait()
    return (x + y).cpu()


def host_waits() -> list[float]:
    x, side = made(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y = x + 1
        host = y.to("cpu", non_blocking=True)
    side.synchronize()
    buffer = torch.zeros(4).pin_memory()
    buffer.copy_(y, non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    buffer += y.sum().item()
    return [*host.tolist(), *buffer.tolist()]


def memory_is_kept() -> float:
    x, side, main = made(), torch.cuda.Stream(), torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        x + 1
    x.record_stream(side)
    del x
    y = made()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        y + 1
    main.wait_stream(side)
    del y
    return made().sum().item()


def reads_twice() -> torch.Tensor:
    x, side = made(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x + 1
    return (x * 2).cpu()


def other_rows_of_a_buffer() -> torch.Tensor:
    x, side = torch.zeros(4, 2, device=CUDA), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x[:2].fill_(1)
    x[2:].fill_(2)
    torch.cuda.synchronize()
    return x.cpu()


def waits_for_collectives() -> torch.Tensor:
    x, parts = made(), torch.zeros(8, device=CUDA)
    work = dist.all_reduce(x, async_op=True)
    y = torch.ones(4, device=CUDA)
    work.wait()
    dist.all_gather_into_tensor(parts, x + y)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(parts)
    torch.cuda.current_stream().wait_stream(side)
    return parts.cpu()


def trains_sharded() -> torch.Tensor:
    torch.manual_seed(0)
    mesh = init_device_mesh(CUDA, (dist.get_world_size(),))
    model = nn.Sequential(*(nn.Linear(4, 4, device=CUDA) for _ in range(3)))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(2):
        model(torch.ones(2, 4, device=CUDA)).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
    return model[0].weight.full_tensor().detach().cpu()


def trains_replicated() -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 4).cuda())
    side = torch.cuda.Stream()
    for _ in range(2):
        batch = torch.ones(2, 4).pin_memory()
        with torch.cuda.stream(side):
            rows = batch.to(CUDA, non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        rows.record_stream(torch.cuda.current_stream())
        model(rows).square().mean().backward()
    return model.module.weight.grad.cpu()


RIGHT = [
    waits_for_streams, waits_for_events, host_waits, memory_is_kept, reads_twice,
    other_rows_of_a_buffer, waits_for_collectives, trains_sharded, trains_replicated,
]  # fmt: skip


@pytest.mark.parametrize("local", ["plain", "exact"])
@pytest.mark.parametrize("right", RIGHT, ids=lambda each: each.__name__)
def test_ordered_uses_have_no_report(right: Callable[[], object], local: str) -> None:
    """Would fail if a use that is ordered, by whatever way, were reported."""
    simmesh.spmd(world_size=2, schedules=3, device=CUDA, backend="nccl", local=local)(right)()


def test_sharded_training_with_offload_has_no_report() -> None:
    """Would fail if FSDP2's own copies to the host and back were taken for races."""

    def program() -> None:
        mesh = init_device_mesh(CUDA, (2,))
        model = nn.Linear(4, 4)
        fully_shard(model, mesh=mesh, offload_policy=CPUOffloadPolicy())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model(torch.ones(2, 4, device=CUDA)).sum().backward()
            optimizer.step()

    simmesh.spmd(world_size=2, schedules=2, device=CUDA, backend="nccl")(program)()


def test_collectives_that_ended_hold_no_memory() -> None:
    """Would fail if the order kept the operands of all collectives."""

    def program() -> int:
        for _ in range(200):
            dist.all_reduce(torch.ones(4, device=CUDA))
        order = rank_state.of_rank().stream_order
        assert order is not None
        return len(order.works)

    ran = simmesh.spmd_run(program, world_size=2, device=CUDA, backend="nccl")
    assert ran.outcome.ok and max(ran.results) < 20, ran.results
