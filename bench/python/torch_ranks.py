"""How fast do PyTorch programs run as ranks, beside processes of gloo and PyTorch's threads?

Prints a table: what was measured, ours, the peer's or the limit, the ratio, and what is asked. All
are wall times of one run on this machine, the least of several, so that noise counts for little.
The peers' times are those of whole tests: processes start and import PyTorch, which is what a test
on them costs. The limit is what PyTorch's own Python takes for all ranks, one after the other,
without anything that communicates or takes turns: nobody who runs them in one interpreter is
faster.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable

import lines
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

import simmesh
from simmesh import _core

RANKS = 4


def small_step() -> list[torch.Tensor]:
    """Makes a step of SGD on two linear layers, each sharded by FSDP2, and gathers the whole
    parameters."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 16))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model(torch.randn(4, 16)).sum().backward()
    optimizer.step()
    return [parameter.full_tensor() for parameter in model.parameters()]


def step() -> list[torch.Tensor]:
    """Makes a step of AdamW on three linear layers, each sharded by FSDP2, and gathers the whole
    parameters."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(3)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model(torch.randn(4, 16)).sum().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return [parameter.full_tensor() for parameter in model.parameters()]


def redistribution() -> torch.Tensor:
    """Redistributes a tensor on a 2 x 2 mesh and makes it whole."""
    mesh = init_device_mesh("cpu", (2, 2))
    tensor = distribute_tensor(torch.arange(64.0).reshape(8, 8), mesh, [Shard(0), Replicate()])
    return tensor.redistribute(mesh, [Replicate(), Shard(1)]).full_tensor()


def least_seconds(work: Callable[[], Any], times: int) -> float:
    """Returns the least wall time of several runs."""
    hook = sys.excepthook  # to which every group of a process adds its rank
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    sys.excepthook = hook
    return min(seconds)


def on_ranks(program: Callable[[], Any], times: int = 30) -> float:
    """Returns the seconds of one warm run, under a schedule of its own each time."""
    seeds = iter(range(times + 3))

    def run() -> None:
        result = simmesh.spmd_run(program, world_size=RANKS, schedule=f"seeded:{next(seeds)}")
        assert result.outcome.ok, result.outcome.report

    least_seconds(run, 3)
    return least_seconds(run, times)


def certified_seconds(program: Callable[[], Any]) -> float:
    """Returns the seconds of a test of 20 schedules for which one run stands for all."""
    test = simmesh.spmd(world_size=RANKS, schedules=20)(program)
    least_seconds(test, 2)
    return least_seconds(test, 10)


def limit(program: Callable[[], Any]) -> float:
    """Seconds of PyTorch alone for all ranks: with its fake backend, which doesn't communicate, on
    one thread.
    """

    def run() -> None:
        for rank in range(RANKS):
            dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=RANKS)
            program()
            dist.destroy_process_group()

    least_seconds(run, 3)
    return least_seconds(run, 20)


def on_threads(program: Callable[[], Any]) -> float:
    """Returns the seconds of one warm run on the threads of PyTorch's MultiThreadedTestCase."""
    from torch.testing._internal.common_distributed import MultiThreadedTestCase

    class Threads(MultiThreadedTestCase):
        world_size = RANKS

        def test(self) -> None:
            program()

    def run() -> None:
        case = Threads("test")
        case.setUp()
        case._spawn_threads()
        case.test()
        case.tearDown()

    least_seconds(run, 2)
    return least_seconds(run, 5)


def on_processes() -> float:
    """Returns the seconds from the start of the gloo processes of a small step to the end of the
    last one."""

    def run() -> None:
        with tempfile.NamedTemporaryFile() as store:
            processes = [
                subprocess.Popen(
                    [sys.executable, __file__, str(rank), store.name + ".store"],
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                )
                for rank in range(RANKS)
            ]  # fmt: skip
            # gloo's threads abort a process now and then while it ends, after its step.
            assert [process.communicate()[0] for process in processes] == ["done\n"] * RANKS

    return least_seconds(run, 2)


def gloo_rank(rank: int, store: str) -> None:
    """Runs one of the gloo processes."""
    dist.init_process_group("gloo", store=dist.FileStore(store, RANKS), rank=rank, world_size=RANKS)
    small_step()
    print("done", flush=True)
    dist.destroy_process_group()


def turn_seconds(turns: int = 4000) -> float:
    """Returns the seconds in which the turn passes from one rank to the next."""

    def body(rank: int) -> None:
        for _ in range(turns // RANKS):
            _core.yield_now()

    return least_seconds(lambda: _core.run(body, ranks=RANKS), 10) / turns


def event_seconds(turns: int = 4000) -> float:
    """Returns the seconds in which a Python thread wakes the next one and waits: the peer of a
    turn."""

    def run() -> None:
        events = [threading.Event() for _ in range(RANKS)]

        def go(place: int) -> None:
            for _ in range(turns // RANKS):
                events[place].wait()
                events[place].clear()
                events[(place + 1) % RANKS].set()

        threads = [threading.Thread(target=go, args=(place,)) for place in range(RANKS)]
        for thread in threads:
            thread.start()
        events[0].set()
        for thread in threads:
            thread.join()

    return least_seconds(run, 3) / turns


def main() -> None:
    """Prints the table."""
    turn, event = turn_seconds(), event_seconds()
    small, large, redistributed = on_ranks(small_step), on_ranks(step), on_ranks(redistribution)
    threads, processes = on_threads(small_step), on_processes()
    least = limit(small_step)
    lines.text(f"{'':48}{'ours':>10}{'peer':>12}{'ratio':>8}  asked")
    for name, key, ours, peer, asked in [
        ("a turn, beside Python's events (us)", "turn", turn * 1e6, event * 1e6, "at most 15 us"),
        ("FSDP2 step test, beside gloo processes (ms)", "gloo", small * 1e3, processes * 1e3,
         "below 50 ms, ratio 300"),
        ("FSDP2 step test, beside PyTorch's threads (ms)", "threads", small * 1e3, threads * 1e3,
         ""),
        ("FSDP2 step test, beside the limit (ms)", "limit", small * 1e3, least * 1e3, ""),
    ]:  # fmt: skip
        lines.text(f"{name:48}{ours:10.2f}{peer:12.2f}{peer / ours:8.2f}  {asked}")
        lines.value(key, ours)
        lines.value(f"{key} peer", peer)
    lines.text(f"{'schedules a second':48}{'ours':>10}{'limit':>12}")
    certified = 20 / certified_seconds(small_step)
    lines.text(f"{'FSDP2 step test, one run for 20 schedules':48}{certified:10.1f}")
    lines.value("schedules of one run", certified)
    for name, key, seconds, peer, asked in [
        ("FSDP2 step test, one process", "step", small, least, "100"),
        ("FSDP2 step of AdamW, 3 layers", "AdamW", large, limit(step), "24"),
        ("redistribution", "redistribution", redistributed, limit(redistribution), "150"),
    ]:
        rate = 1 / seconds
        lines.text(f"{name:48}{rate:10.1f}{1 / peer:12.1f}{rate * peer:8.2f}  {asked}")
        lines.value(f"schedules of {key}", rate)
        lines.value(f"schedules of {key} limit", 1 / peer)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if len(sys.argv) == 3:
        gloo_rank(int(sys.argv[1]), sys.argv[2])
    else:
        main()
