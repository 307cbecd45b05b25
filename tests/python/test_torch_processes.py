"""Ranks that are processes: the same bits, hashes and reports as ranks that are threads."""

from __future__ import annotations

import os
import re
import sys
import threading
import traceback
import types
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist

import process_programs
import simmesh
from simmesh.torch import run
from simmesh.torch.processes.sent_value import Unsent

PROGRAMS = (
    process_programs.all_reduce, process_programs.collectives, process_programs.started_together,
    process_programs.data_parallel, process_programs.fully_sharded,
    process_programs.distributed_tensors, process_programs.takes_results_as_they_come,
)  # fmt: skip


def hashes(program: Callable[[], Any], seats: str, schedule: str, **options: Any) -> Any:
    """Everything that tells two runs apart."""
    ran = simmesh.spmd_run(program, world_size=4, schedule=schedule, seats=seats, **options)
    assert ran.outcome.ok, ran.outcome.report
    return ran.outcome.data_hash, ran.outcome.schedule_hash, ran.outcome.choices


@pytest.mark.parametrize("program", PROGRAMS)
def test_runs_are_those_of_threads(program: Callable[[], Any]) -> None:
    """Fails if the turn passes in another order than between threads, or a bit differs."""
    for schedule in ("fifo", "seeded:3"):
        expected = hashes(program, "threads", schedule)
        assert hashes(program, "processes", schedule) == expected
        assert hashes(program, "processes", schedule, run_ahead=False) == expected


def test_a_write_that_comes_too_early_has_the_bits_of_threads() -> None:
    """Fails if operands are read before the last member has come."""
    seen = set()
    for seed in range(12):
        expected = hashes(process_programs.writes_too_early, "threads", f"seeded:{seed}")
        assert hashes(process_programs.writes_too_early, "processes", f"seeded:{seed}") == expected
        seen.add(expected[0])
    assert len(seen) > 1


def test_results_come_back() -> None:
    """Fails if a rank's value or its calls are lost with its process."""
    ran = simmesh.spmd_run(process_programs.all_reduce, world_size=2, seats="processes")
    assert torch.equal(ran.results[0], ran.results[1])
    ran.expect(calls={"all_reduce": 1}, nbytes={"all_reduce": 12})


@simmesh.spmd(world_size=2, schedules=3, seats="processes")
def test_the_decorator_takes_seats() -> None:
    """Fails if schedules can't be tried on processes."""
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor[0] == 2


def counted_in_a_module() -> int:
    process_programs.count += 1
    dist.barrier()
    return process_programs.count


def compiled() -> list[float]:
    """Compiles a function that holds its rank."""
    import torch._dynamo

    rank = dist.get_rank()

    def scale(tensor: torch.Tensor) -> torch.Tensor:
        return tensor * (rank + 1) + 1

    counts = torch._dynamo.utils.counters
    before = counts["stats"]["unique_graphs"]
    result = torch.compile(scale, backend="eager")(torch.ones(1))
    dist.all_reduce(result)
    return [result.item(), float(counts["stats"]["unique_graphs"] - before)]


def profiled() -> bool:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.ones(4).add(dist.get_rank())
        dist.barrier()
    return any(each.key == "aten::add" for each in profile.key_averages())


def collective_of_a_thread() -> float:
    tensor = torch.full((1,), float(dist.get_rank() + 1))
    thread = threading.Thread(target=dist.all_reduce, args=(tensor,))
    thread.start()
    thread.join()
    return tensor.item()


def spawned_by_the_system() -> list[int]:
    return [os.system(f"exit {dist.get_rank()}") >> 8, int(os.getpid() == os.getppid())]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (counted_in_a_module, [1, 1]),
        (compiled, [[5.0, 1.0], [5.0, 1.0]]),
        (profiled, [True, True]),
        (collective_of_a_thread, [3.0, 3.0]),
        (spawned_by_the_system, [[0, 0], [1, 0]]),
    ],
)
def test_a_process_is_the_ranks(program: Callable[[], Any], expected: Any) -> None:
    """Fails if ranks share what processes don't, or if it is refused."""
    ran = simmesh.spmd_run(program, world_size=2, seats="processes")
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == expected


def raises_in_a_function() -> None:
    if dist.get_rank() == 1:
        raise KeyError("a key of rank 1")
    dist.barrier()


def test_an_exception_is_the_ranks() -> None:
    """Fails if an exception loses its class, its text or the lines where it was raised."""
    one = simmesh.spmd_run(raises_in_a_function, world_size=2)
    other = simmesh.spmd_run(raises_in_a_function, world_size=2, seats="processes")
    assert other.outcome.message == one.outcome.message
    assert other.outcome.details == one.outcome.details
    assert isinstance(other.outcome.exception, KeyError)
    places = traceback.extract_tb(other.outcome.exception.__traceback__)
    assert places[-1].name == "raises_in_a_function"
    assert places[-1].line == 'raise KeyError("a key of rank 1")'


def returns_early() -> None:
    if dist.get_rank() != 1:
        dist.barrier()


def calls_another_collective() -> None:
    tensor = torch.ones(2)
    if dist.get_rank() == 1:
        dist.broadcast(tensor, 0)
    else:
        dist.all_reduce(tensor)


def waits_for_a_key() -> None:
    store = dist.TCPStore("localhost", 29501)
    store.set(f"own/{dist.get_rank()}", "1")
    store.wait(["nobody"])


@pytest.mark.parametrize("program", [returns_early, calls_another_collective, waits_for_a_key])
def test_reports_are_those_of_threads(program: Callable[[], Any]) -> None:
    """Fails if a deadlock or a mismatch is told in other words."""
    one = simmesh.spmd_run(program, world_size=3, seats="threads")
    other = simmesh.spmd_run(program, world_size=3, seats="processes")
    assert one.outcome.kind is not None
    assert other.outcome.kind == one.outcome.kind
    # The call names seats that are not those of all tests.
    reports = [re.sub(", seats='[a-z]+'", "", each.outcome.report) for each in (one, other)]
    assert reports[0] == reports[1]


def test_threads_that_end_at_once_are_joined() -> None:
    """Fails if a thread that joins comes before C code that ends the other, and waits for ever."""

    def program() -> int:
        ended: list[int] = []
        for number in range(20):
            thread = threading.Thread(target=ended.append, args=(number,))
            thread.start()
            thread.join()
        return len(ended)

    for seed in range(3):
        ran = simmesh.spmd_run(program, world_size=2, seats="processes", schedule=f"seeded:{seed}")
        assert ran.results == [20, 20], ran.outcome.report


def test_a_rank_goes_on_after_a_thread_that_is_refused() -> None:
    """Fails if the seat waits for a thread that could not start, and the rank for its answer."""

    def program() -> str:
        stop = threading.Event()
        try:
            for _ in range(70):
                threading.Thread(target=stop.wait).start()
        except RuntimeError as error:
            return str(error)
        finally:
            stop.set()
        return ""

    ran = simmesh.spmd_run(program, world_size=1, seats="processes", timeout=120)
    assert "expected at most 64 threads of a rank at once" in ran.results[0], ran.outcome.report


def test_modules_that_a_rank_makes_are_isolated() -> None:
    """Fails if a run refuses the name of a module that only its ranks know."""

    def program() -> int:
        made: Any = types.ModuleType("made_by_hand")
        sys.modules["made_by_hand"] = made
        made.rank = dist.get_rank()
        dist.barrier()
        return int(sys.modules["made_by_hand"].rank)

    ran = simmesh.spmd_run(program, world_size=2, seats="processes", isolate=["made_by_hand"])
    assert ran.results == [0, 1]
    with pytest.raises(ValueError, match="which no rank made"):
        simmesh.spmd_run(program, world_size=2, seats="processes", isolate=["never_made"])


def test_prints_come_in_the_order_of_turns(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a rank's output is lost, or comes when it computes."""

    def program() -> None:
        for step in range(2):
            print("step", step, "rank", dist.get_rank())
            dist.barrier()

    simmesh.spmd_run(program, world_size=2)
    expected = capsys.readouterr().out
    simmesh.spmd_run(program, world_size=2, seats="processes")
    assert capsys.readouterr().out == expected


def test_a_value_that_pickle_refuses_is_told() -> None:
    """Fails if the run fails, or returns a value that looks like the rank's."""
    ran = run(lambda rank: threading.Lock(), 1, seats="processes")
    assert ran.outcome.ok, ran.outcome.report
    assert isinstance(ran.results[0], Unsent)
    assert "cannot pickle" in ran.results[0].reason


def test_what_this_process_cannot_name_is_told() -> None:
    """Fails if an exception of a class that only a rank has made is lost."""

    def program(rank: int) -> Any:
        module = types.ModuleType("made_by_a_rank")
        sys.modules["made_by_a_rank"] = module
        exec("class Own(ValueError): pass", vars(module))
        if rank == 0:
            raise module.Own("a text")
        return module.Own

    ran = run(program, 2, seats="processes")
    assert isinstance(ran.outcome.exception, ValueError)
    assert "made_by_a_rank.Own: a text" in ran.outcome.message
    assert run(lambda rank: program(1), 1, seats="processes").results[0].text == "<class 'type'>"


def test_processes_compute_at_the_same_time(tmp_path: Path) -> None:
    """Fails if a process waits for its turn though nothing that it computes depends on others."""

    def program() -> bool:
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        (tmp_path / str(dist.get_rank())).touch()
        other = tmp_path / str(1 - dist.get_rank())
        looks = 0
        while not other.exists() and looks < 1_000_000:
            looks += 1
        dist.all_reduce(tensor)
        return looks < 1_000_000

    ran = simmesh.spmd_run(program, world_size=2, seats="processes")
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [True, True]


def test_seats_that_there_are_not_are_refused() -> None:
    """Fails if a misspelt option runs threads without a word."""
    words = "seats: expected 'threads' or 'processes', got 'fibers'"
    with pytest.raises(ValueError, match=re.escape(words)):
        simmesh.spmd_run(process_programs.all_reduce, world_size=2, seats="fibers")
