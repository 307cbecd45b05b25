"""Threads that ranks start belong to their rank, and run when the schedule says so."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import multiprocessing
import os
import queue
import random
import sys
import threading
import time
from multiprocessing.pool import ThreadPool
from typing import Any, Callable

import numpy
import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

import simmesh

SCHEDULES = ("fifo", "seeded:1", "seeded:2", "pct:2", "pct:4")


def under_all(program: Callable[[], Any], world_size: int = 2, **options: Any) -> list[Any]:
    """Returns what the ranks return, which is the same under all schedules."""
    runs = [
        simmesh.spmd_run(program, world_size=world_size, schedule=schedule, **options)
        for schedule in SCHEDULES
    ]
    for ran in runs:
        assert ran.outcome.ok, ran.outcome.report
        assert ran.results == runs[0].results
        assert ran.outcome.data_hash == runs[0].outcome.data_hash
    assert len({ran.outcome.schedule_hash for ran in runs}) > 1
    return runs[0].results


def started(function: Callable[[], Any], **options: Any) -> threading.Thread:
    thread = threading.Thread(target=function, **options)
    thread.start()
    return thread


def test_collectives_of_a_thread_are_its_ranks() -> None:
    """Would fail if a thread had no groups, or met the collectives of its rank's body."""

    def program() -> list[float]:
        found = []
        group = dist.new_group([0, 1])

        def work() -> None:
            for i in range(3):
                tensor = torch.full((2,), float(dist.get_rank() + i))
                dist.all_reduce(tensor, group=group)
                found.append(tensor[1].item())

        thread = started(work)
        for _ in range(3):
            dist.all_reduce(torch.ones(1))
        thread.join()
        assert not thread.is_alive()
        return found

    assert under_all(program) == [[1, 3, 5]] * 2


def test_groups_are_those_of_all_threads() -> None:
    """Would fail if C++ code found a group only on the thread that made it."""

    def program() -> list[float]:
        made: queue.Queue[Any] = queue.Queue()
        asked: queue.Queue[Any] = queue.Queue()
        sums = []

        def work() -> None:
            made.put(dist.new_group([0, 1]))
            sums.append(functional.all_reduce(torch.ones(1), "sum", asked.get()).item())

        thread = started(work)
        sums.append(functional.all_reduce(torch.ones(1), "sum", made.get()).item())
        group = dist.new_group([0, 1])
        asked.put(group)
        thread.join()
        dist.destroy_process_group(group)
        return sums

    assert under_all(program) == [[2, 2]] * 2


def test_state_is_the_ranks() -> None:
    """Would fail if a thread had another rank's variables, numbers or default dtype."""

    def program() -> list[Any]:
        os.environ["SIMMESH_THREAD"] = str(dist.get_rank())
        torch.manual_seed(dist.get_rank())
        torch.set_default_dtype(torch.float64)
        found: list[Any] = []

        def work() -> None:
            dist.barrier()
            found.extend([os.environ["RANK"], os.environ["SIMMESH_THREAD"], os.getpid()])
            found.extend([torch.rand(1).item(), torch.rand(1).dtype, torch.is_grad_enabled()])

        with torch.no_grad():
            started(work).join()
        return found

    for rank, found in enumerate(under_all(program)):
        torch.manual_seed(rank)
        expected = torch.rand(1, dtype=torch.float64).item()
        assert found[:2] == [str(rank)] * 2
        assert found[3:] == [expected, torch.float64, True]


def test_each_thread_begins_with_its_own_locals() -> None:
    """Would fail if threads that follow one another on a seat shared what is a thread's own."""

    def program() -> list[bool]:
        own = threading.local()
        found = []

        def work() -> None:
            found.append(hasattr(own, "mark"))
            own.mark = True

        for _ in range(100):
            started(work).join()
        return found

    assert under_all(program, world_size=1) == [[False] * 100]


def test_executors_return_what_their_threads_compute() -> None:
    """Would fail if a future weren't waited for in the run's order."""

    def program() -> list[float]:
        groups = [dist.new_group([0, 1]) for _ in range(4)]

        def work(i: int) -> float:
            tensor = torch.full((1,), float(i))
            dist.all_reduce(tensor, group=groups[i])
            return tensor.item()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return list(pool.map(work, range(4)))

    assert under_all(program) == [[0, 2, 4, 6]] * 2


def test_threads_meet_in_every_primitive() -> None:
    """Would fail if a wait in one of them kept the turn, or lost a call that ends it."""

    def program() -> list[Any]:
        found: list[Any] = []
        condition, event, barrier = threading.Condition(), threading.Event(), threading.Barrier(2)
        semaphore, recursive = threading.Semaphore(0), threading.RLock()
        simple: queue.SimpleQueue[int] = queue.SimpleQueue()
        bounded: queue.Queue[int] = queue.Queue(maxsize=1)
        is_ready = []

        def work() -> None:
            with condition:
                is_ready.append(True)
                condition.notify()
            event.wait()
            barrier.wait()
            semaphore.release()
            with recursive, recursive:
                dist.barrier(group)
            for i in range(3):
                bounded.put(i)
            simple.put(7)

        group = dist.new_group([0, 1])
        thread = started(work)
        with condition:
            condition.wait_for(lambda: is_ready)
        event.set()
        barrier.wait()
        semaphore.acquire()
        with recursive:
            found.append("recursive")
        found.extend(bounded.get() for _ in range(3))
        found.append(simple.get())
        thread.join()
        return found

    assert under_all(program) == [["recursive", 0, 1, 2, 7]] * 2


def test_generators_are_swapped_while_threads_seed_them() -> None:
    """Would fail if the turn went on while numpy holds the lock that its state needs."""

    def program() -> list[float]:
        group = dist.new_group([0, 1])

        def work() -> None:
            for _ in range(5):
                dist.barrier(group)

        thread = started(work)
        drawn = []
        for seed in range(5):
            numpy.random.seed(seed + dist.get_rank())
            drawn.append(numpy.random.normal())
        thread.join()
        return drawn

    for rank, drawn in enumerate(under_all(program)):
        assert drawn == [numpy.random.RandomState(seed + rank).normal() for seed in range(5)]


def test_waits_between_threads_end_by_their_time_limit() -> None:
    """Would fail if a limit were one of wall time, or didn't end a wait."""

    def program() -> list[Any]:
        lock, event = threading.Lock(), threading.Event()
        lock.acquire()
        begin = time.monotonic()
        found: list[Any] = [lock.acquire(timeout=100), event.wait(100)]
        thread = started(lambda: time.sleep(200))
        thread.join(50)
        found.append(thread.is_alive())
        thread.join()
        try:
            queue.SimpleQueue().get(timeout=100)
        except queue.Empty:
            found.append("empty")
        return [*found, round(time.monotonic() - begin)]

    begin = time.perf_counter()
    assert under_all(program, world_size=1) == [[False, False, True, "empty", 500]]
    assert time.perf_counter() - begin < 30


def test_a_work_is_waited_for_by_other_threads() -> None:
    """Would fail if a work belonged to the thread that started it."""

    def program() -> list[float]:
        tensor = torch.ones(1)
        work = dist.all_reduce(tensor, async_op=True)
        threads = [started(work.wait) for _ in range(3)]
        work.wait()
        for thread in threads:
            thread.join()
        other = torch.ones(1)
        box: list[Any] = []
        started(lambda: box.append(dist.all_reduce(other, async_op=True))).join()
        box[0].wait()
        message = torch.full((1,), float(dist.get_rank()))
        peer = 1 - dist.get_rank()
        sent = dist.isend(message, peer)
        received = torch.zeros(1)
        started(lambda: dist.recv(received, peer)).join()
        sent.wait()
        return [tensor.item(), other.item(), received.item()]

    assert under_all(program) == [[2, 2, 1], [2, 2, 0]]


def test_threads_that_wait_for_each_other_are_reported() -> None:
    """Would fail if a deadlock of one rank's threads were a timeout, or lacked a line."""

    def program() -> None:
        asked = threading.Event()
        answers: queue.Queue[int] = queue.Queue()

        def work() -> None:
            asked.wait()
            answers.put(1)

        thread = started(work, name="worker")
        if dist.get_rank() == 0:
            answers.get()
        asked.set()
        thread.join()

    for schedule in SCHEDULES:
        outcome = simmesh.spmd_run(program, world_size=2, schedule=schedule).outcome
        assert outcome.kind == "deadlock"
        assert "2 of 3 have not returned" in outcome.message
        assert "rank 0: waited in Queue.get for another thread of its rank, test_threads.py:" in (
            outcome.details
        )
        assert "rank 0, thread worker: waited in Event.wait for another thread of its rank" in (
            outcome.details
        )
        assert "cycle: rank 0 -> rank 0, thread worker -> rank 0" in outcome.details


def test_locks_in_another_order_are_found() -> None:
    """Would fail if the schedules of threads weren't tried, or holders of locks not known."""

    def program() -> None:
        first, second = threading.Lock(), threading.Lock()

        def up() -> None:
            with first, second:
                pass

        def down() -> None:
            with second, first:
                pass

        for thread in [started(up, name="up"), started(down, name="down")]:
            thread.join()

    with pytest.raises(AssertionError) as failure:
        simmesh.spmd(world_size=1, schedules=60)(program)()
    report = str(failure.value)
    assert "cycle: rank 0, thread up -> rank 0, thread down -> rank 0, thread up" in report
    assert "thread up: waited in lock.acquire for what rank 0, thread down, holds since" in report
    again = report.split("schedule: ")[1].split(" ")[0]
    assert simmesh.spmd_run(program, world_size=1, schedule=again).outcome.kind == "deadlock"


def test_loops_that_look_again_and_again_end() -> None:
    """Would fail if a schedule let a thread look for ever, and nobody else run."""

    def program() -> list[bool]:
        event, lock = threading.Event(), threading.Lock()
        items: queue.SimpleQueue[int] = queue.SimpleQueue()
        lock.acquire()

        def work() -> None:
            event.set()
            items.put(1)
            dist.barrier(group)
            lock.release()

        group = dist.new_group([0, 1])
        thread = started(work)
        while not event.is_set():
            pass
        while not lock.acquire(False):
            pass
        while thread.is_alive():
            pass
        while True:
            try:
                return [items.get_nowait() == 1]
            except queue.Empty:
                pass

    assert under_all(program) == [[True]] * 2


def test_a_lock_that_a_rank_holds_already_is_a_deadlock() -> None:
    """Would fail if the rank kept its turn until the timeout."""

    def program() -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    outcome = simmesh.spmd_run(program, world_size=1).outcome
    assert outcome.kind == "deadlock"
    assert "waited in lock.acquire that this thread holds already" in outcome.details


SHARED_LOCK = threading.Lock()


def test_a_lock_of_the_host_is_waited_for_between_ranks() -> None:
    """Would fail if a rank kept its turn while another one holds a lock and communicates."""

    def program() -> None:
        with SHARED_LOCK:
            dist.barrier(async_op=True)
            time.sleep(1)

    under_all(program, world_size=3)


def test_a_program_ends_with_its_threads() -> None:
    """Would fail if a thread were cut off, or if a daemon kept its rank."""

    def program() -> None:
        def work() -> None:
            time.sleep(5)
            dist.all_reduce(torch.ones(1), group=group)
            MARKS.append(dist.get_rank())

        def forever() -> None:
            while True:
                time.sleep(1)

        group = dist.new_group([0, 1])
        started(forever, daemon=True)
        assert not started(work).daemon
        concurrent.futures.ThreadPoolExecutor(1).submit(time.sleep, 3)

    for schedule in SCHEDULES:
        MARKS.clear()
        assert simmesh.spmd_run(program, world_size=2, schedule=schedule).outcome.ok
        assert sorted(MARKS) == [0, 1]


MARKS: list[int] = []


def test_an_exception_of_a_thread_goes_to_the_ranks_hook() -> None:
    """Would fail if it ended the rank, or if a thread that ends with its rank raised one."""

    def program() -> list[str]:
        seen: list[str] = []
        threading.excepthook = lambda arguments: seen.append(str(arguments.exc_value))
        OF_RANKS.append(seen)

        def fail() -> None:
            raise ValueError(f"of rank {dist.get_rank()}")

        started(fail).join()
        started(threading.Event().wait, daemon=True)
        return seen

    assert under_all(program) == [["of rank 0"], ["of rank 1"]]
    assert sorted(OF_RANKS) == len(SCHEDULES) * [["of rank 0"]] + len(SCHEDULES) * [["of rank 1"]]


OF_RANKS: list[list[str]] = []


def test_event_loops_wait_for_their_threads() -> None:
    """Would fail if a rank waited for its own thread with the turn."""

    def program() -> tuple[int, float]:
        async def main() -> int:
            loop = asyncio.get_running_loop()

            def work() -> int:
                time.sleep(2)
                dist.barrier(group)
                return dist.get_rank()

            return await loop.run_in_executor(None, work)

        group = dist.new_group([0, 1])
        return asyncio.run(main()), time.monotonic() >= 2

    assert under_all(program) == [(0, True), (1, True)]


def test_pools_of_threads_work() -> None:
    """Would fail if a handler of the pool were none of the rank's threads."""

    def program() -> list[int]:
        with ThreadPool(2) as pool:
            return pool.map(lambda number: number * number, range(5))

    assert under_all(program) == [[0, 1, 4, 9, 16]] * 2


class Numbers(torch.utils.data.Dataset[int]):
    """Ten numbers."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


def test_loaders_with_processes_work_beside_threads() -> None:
    """Would fail if a queue between processes were one of the run."""

    def program() -> list[int]:
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=5, num_workers=1)
        ready: queue.Queue[Any] = queue.Queue(maxsize=1)

        def prefetch() -> None:
            for batch in loader:
                ready.put(batch)
            ready.put(None)

        started(prefetch)
        return [int(batch.sum()) for batch in iter(ready.get, None)]

    ran = simmesh.spmd_run(program, world_size=2)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [[10, 35]] * 2


def test_threads_compute_as_their_rank_does() -> None:
    """Would fail if the operators of a rank's thread were torch's own in an exact rank."""

    def program() -> list[float]:
        found: list[float] = []
        started(lambda: found.append(float(torch.tensor([1e20, 1.0, -1e20]).sum()))).join()
        return found

    assert simmesh.spmd_run(program, world_size=2, local="exact").results == [[1.0]] * 2
    assert simmesh.spmd_run(program, world_size=2).results == [[0.0]] * 2


def test_too_many_threads_are_refused() -> None:
    """Would fail if a rank without bound took all threads of the system."""

    def program() -> str:
        stop = threading.Event()
        try:
            for _ in range(100):
                started(stop.wait)
        except RuntimeError as error:
            return str(error)
        finally:
            stop.set()
        return ""

    (text,) = under_all(program, world_size=1)
    assert "rank 0: expected at most 64 threads of a rank at once" in text


def test_a_thread_that_the_run_does_not_know_is_refused() -> None:
    """Would fail if a collective on it hung, or gave what no rank computed."""

    def program() -> str:
        texts: list[str] = []
        done = _thread.allocate_lock()
        done.acquire()

        def work() -> None:
            try:
                dist.all_reduce(torch.ones(1), group=group)
            except RuntimeError as error:
                texts.append(str(error))
            finished.append(True)

        group = dist.group.WORLD
        finished: list[bool] = []
        _thread.start_new_thread(work, ())
        while not finished:
            sys.stdout.flush()
        return texts[0]

    for text in simmesh.spmd_run(program, world_size=2).results:
        assert (
            "expected the thread of a rank, or one that a rank started by threading.Thread" in text
        )


def test_nothing_is_left_of_threads() -> None:
    """Would fail if the host's threads, locks and queues were those of a run afterwards."""

    def state() -> list[Any]:
        return [
            threading.Thread.start, threading.Thread.join,
            vars(_thread.LockType)["acquire"], vars(_thread.RLock)["release"],
            vars(queue.SimpleQueue)["get"], threading.excepthook, vars(threading)["_counter"],
            vars(concurrent.futures.thread)["_shutdown"], dict(vars(threading)["_limbo"]),
        ]  # fmt: skip

    def program() -> None:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            pool.submit(random.random).result()
        if dist.get_rank() == 1:
            started(threading.Event().wait, daemon=True)
            raise ValueError("on purpose")
        dist.barrier()

    before, threads = state(), set(threading.enumerate())
    for schedule in SCHEDULES:
        assert simmesh.spmd_run(program, world_size=2, schedule=schedule).outcome.kind == "error"
    assert state() == before
    assert threads.issuperset(threading.enumerate())
    lock = threading.Lock()
    with lock:
        assert lock.locked()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: 3).result() == 3


@pytest.mark.parametrize("is_older", [True, False])
@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_locks_of_processes_are_waited_for_with_the_turn_given_away(
    kind: str, is_older: bool
) -> None:
    """Would fail if a rank that waits for a lock of multiprocessing kept the turn of its holder."""
    older = getattr(multiprocessing, kind)()
    locks: list[Any] = []

    def program() -> None:
        if not is_older and not locks:
            locks.append(getattr(multiprocessing, kind)())
        lock = older if is_older else locks[0]
        for _ in range(2):
            with lock:
                if kind == "RLock":
                    lock.acquire()
                    lock.release()
                time.sleep(1)
            assert lock.acquire(timeout=9)
            time.sleep(1)
            lock.release()

    under_all(program)
    assert older.acquire.__self__ is older._semlock and older.acquire(block=False)
    assert type(older.acquire).__name__ == "builtin_function_or_method"
    older.release()


def test_lock_of_processes_that_its_holder_keeps_is_a_deadlock() -> None:
    """Would fail if the report didn't say which rank holds the lock for which another waits."""
    lock = multiprocessing.Lock()

    def program() -> None:
        with lock:
            dist.barrier()

    outcome = simmesh.spmd_run(program, world_size=2).outcome
    assert outcome.kind == "deadlock"
    assert "for what rank 0, holds" in outcome.report
    assert lock.acquire(block=False)
