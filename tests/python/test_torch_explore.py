"""All classes of schedules of PyTorch ranks, one run that stands for all, and processes that share
the schedules.
"""

from __future__ import annotations

import datetime
import importlib
import itertools
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import simmesh
from simmesh.exploration import CERTIFICATE, Exploration, explore
from simmesh.parallel_trials import first_that_fails
from simmesh.spmd import Options, _explore

total = torch.zeros(1)
users: list[int] = []
lock = threading.Lock()
numbers = itertools.count()
shuffle = random.shuffle
generator = torch.default_generator


class Holder:
    """An object that ranks share."""

    value = 0


class Slotted:
    """An object without a dict that ranks share."""

    __slots__ = ("value",)
    value: int


holder, slotted = Holder(), Slotted()
shared = simmesh.Shared("uses", 0)


def found(program: Callable[[], Any], **options: Any) -> Exploration:
    """The exploration of a program."""
    return _explore(program, Options(**options), "")


def fsdp_step() -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    model(torch.ones(2, 4)).sum().backward()
    return [parameter.full_tensor() for parameter in model.parameters()]


def ddp_step() -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 4))
    model(torch.ones(2, 4)).sum().backward()
    return [each.grad for each in model.parameters() if each.grad is not None]


def overlaps_well() -> torch.Tensor:
    tensor, other = torch.ones(2), torch.ones(2)
    work = dist.all_reduce(tensor, async_op=True)
    other.mul_(dist.get_rank())
    work.wait()
    time.sleep(1)
    return tensor * other * time.time()


def sends_by_name() -> torch.Tensor:
    piece = torch.full((1,), float(dist.get_rank()))
    if dist.get_rank() == 0:
        dist.recv(piece, 1)
    elif dist.get_rank() == 1:
        dist.send(piece, 0)
    return piece


def draws_from_generators_of_a_process() -> tuple[torch.Tensor, list[int]]:
    order = list(range(8))
    shuffle(order)
    drawn = torch.rand(2, generator=generator)
    dist.all_reduce(drawn)
    return drawn, order


@pytest.mark.parametrize("program", [fsdp_step, ddp_step, overlaps_well, sends_by_name,
                                     draws_from_generators_of_a_process])  # fmt: skip
def test_one_run_stands_for_all(program: Callable[[], Any]) -> None:
    """Would fail if a program without a race took more than one run."""
    runs = found(program, world_size=2)
    assert (runs.certificate, runs.schedules) == (CERTIFICATE, 1), runs.first.unwatched
    assert found(program, world_size=2, schedules=3, certificate=False).schedules == 3


def writes_under_way() -> None:
    tensor = torch.ones(2)
    work = dist.all_reduce(tensor, async_op=True)
    tensor.mul_(2)
    work.wait()


def reads_under_way() -> None:
    tensor = torch.ones(2)
    work = dist.all_reduce(tensor, async_op=True)
    tensor.tolist()
    work.wait()


def writes_through_numpy() -> None:
    tensor = torch.ones(2)
    array = tensor.numpy()
    work = dist.all_reduce(tensor, async_op=True)
    array[0] = 3
    work.wait()


def writes_a_view_under_way() -> None:
    tensor = torch.ones(4)
    work = dist.all_reduce(tensor[:2], async_op=True)
    tensor[1] += 1
    work.wait()


def asks() -> None:
    work = dist.all_reduce(torch.ones(2), async_op=True)
    work.is_completed()
    work.wait()


def receives_from_anyone() -> None:
    if dist.get_rank():
        dist.send(torch.ones(1), 0)
    else:
        dist.recv(torch.ones(1))


def uses_shared() -> None:
    shared.update(lambda count: count + 1)


def changes_a_tensor() -> None:
    total.add_(1)
    dist.barrier()


def changes_a_list_and_back() -> None:
    users.append(dist.get_rank())
    dist.barrier()
    users.pop()


def changes_an_object() -> None:
    holder.value = dist.get_rank()


def changes_slots() -> None:
    slotted.value = dist.get_rank()


def draws_a_number() -> None:
    next(numbers)


def keeps_a_lock() -> None:
    if dist.get_rank() == 0:
        with lock:
            dist.send(torch.ones(1), 1)
    else:
        dist.recv(torch.ones(1), 0)


def starts_a_thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def uses_a_store() -> None:
    store = dist.TCPStore("localhost", 1234, 2, dist.get_rank() == 0)
    store.set(str(dist.get_rank()), "here")


def waits_at_a_monitored_barrier() -> None:
    dist.monitored_barrier()


def looks_at_the_clock() -> None:
    datetime.datetime.now()
    dist.barrier()


def measures_its_own_time() -> None:
    time.process_time()
    dist.barrier()


RACY = [
    writes_under_way, reads_under_way, writes_through_numpy, writes_a_view_under_way, asks,
    receives_from_anyone, uses_shared, changes_a_tensor, changes_a_list_and_back,
    changes_an_object, changes_slots, draws_a_number, keeps_a_lock, starts_a_thread, uses_a_store,
    waits_at_a_monitored_barrier, looks_at_the_clock, measures_its_own_time,
]  # fmt: skip


@pytest.mark.parametrize("program", RACY)
def test_no_certificate_for(program: Callable[[], Any]) -> None:
    """Would fail if one run were said to stand for all where something could depend on the
    order.
    """
    runs = found(program, world_size=2, schedules=2)
    assert not runs.certificate
    assert runs.failure is not None or runs.schedules == 2


@pytest.mark.parametrize("program", [reads_under_way, writes_through_numpy, asks])
def test_no_certificate_for_exact_ranks(program: Callable[[], Any]) -> None:
    """Would fail if exact ranks were trusted where only their operators are looked at."""
    options: dict[str, Any] = {"world_size": 2, "schedules": 2, "local": "exact"}
    assert found(sends_by_name, **options).certificate
    assert not found(program, **options).certificate
    assert not found(sends_by_name, check_accesses=False, **options).certificate


def test_no_certificate_for_closures_and_files(tmp_path: Path) -> None:
    """Would fail if only variables of modules were looked at, or files could carry a race."""
    count = 0
    seen: dict[int, int] = {}

    def counts() -> None:
        nonlocal count
        count += 1

    def keeps() -> None:
        seen[dist.get_rank()] = 1

    def writes() -> None:
        (tmp_path / "file").write_text("x")

    for program in (counts, keeps, writes):
        assert not found(program, world_size=2, schedules=2).certificate, program


@pytest.mark.parametrize("name", ["py", "coverage", "cuda", "queue_of_mine"])
def test_no_certificate_for_a_module_of_the_name_of_a_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if a program's own module were taken for an installed package by its name."""
    (tmp_path / f"{name}.py").write_text("seen = []\ndef program():\n    seen.append(1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for loaded in [each for each in sys.modules if each.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    module = importlib.import_module(name)
    try:
        assert not found(module.program, world_size=2, schedules=2).certificate
    finally:
        del sys.modules[name]


def receives_twice() -> None:
    if dist.get_rank():
        dist.send(torch.ones(1), 0)
    else:
        for _ in range(dist.get_world_size() - 1):
            dist.recv(torch.zeros(1))


def asks_once() -> None:
    work = dist.all_reduce(torch.ones(1), async_op=True)
    if dist.get_rank() == 0:
        work.is_completed()
    work.wait()


def uses_twice() -> None:
    shared.update(lambda count: count + 1)
    shared.update(lambda count: count + 1)


def sets_a_key() -> None:
    dist.FileStore("shared", 2).set("key", str(dist.get_rank()))


CLASSES = [
    (fsdp_step, 2, 1), (asks_once, 2, 2), (asks_once, 3, 4), (uses_shared, 2, 2),
    (uses_shared, 3, 6), (receives_twice, 3, 2), (receives_twice, 4, 6), (uses_twice, 2, 6),
    (sets_a_key, 2, 2), (sends_by_name, 3, 1),
    (looks_at_the_clock, 2, 1),
]  # fmt: skip


@pytest.mark.parametrize(("program", "ranks", "classes"), CLASSES)
def test_each_class_is_run_once(program: Callable[[], Any], ranks: int, classes: int) -> None:
    """Would fail if a class were left out, or run twice; the numbers are those of C++ programs."""
    runs = found(program, world_size=ranks, explore="all")
    assert runs.failure is None and runs.complete
    assert runs.schedules == classes


def test_orders_of_messages_are_all_tried() -> None:
    """Would fail if an order were left out: one of them is the only one that fails."""

    def fails_for_one_order() -> None:
        if dist.get_rank():
            dist.send(torch.ones(1), 0)
            return
        order = [dist.recv(torch.zeros(1)) for _ in range(3)]
        if order == [3, 1, 2]:
            raise ValueError("the one order")

    result = simmesh.spmd_run(fails_for_one_order, explore="all", world_size=4)
    assert not result.outcome.ok and "the one order" in result.outcome.message
    assert result.exploration is not None and result.exploration.failure is not None
    schedule = result.exploration.failure.schedule
    again = simmesh.spmd_run(fails_for_one_order, world_size=4, schedule=schedule)
    assert "the one order" in again.outcome.message


def test_both_moments_of_an_early_access_are_tried() -> None:
    """Would fail if plain ranks' accesses to buffers under way were no part of the search."""

    def early() -> torch.Tensor:
        tensor = torch.full((2,), float(dist.get_rank()))
        work = dist.all_reduce(tensor, async_op=True)
        tensor.add_(5)
        work.wait()
        return tensor

    with pytest.raises(simmesh.SpmdFailure, match="expected equal bits") as raised:
        simmesh.spmd(world_size=2, explore="all")(early)()
    schedule = str(raised.value).partition("schedule: ")[2].split()[0]
    assert schedule.startswith("guided:") and len(schedule) < 20
    runs = [simmesh.spmd_run(early, world_size=2, schedule=each) for each in ("fifo", schedule)]
    assert all(each.outcome.ok for each in runs)
    assert len({each.outcome.data_hash for each in runs}) == 2


def test_limit_is_told_honestly() -> None:
    """Would fail if a search that gave up passed as complete."""
    with pytest.raises(simmesh.SpmdFailure, match=r"at most 3 classes .* got about"):
        simmesh.spmd(world_size=2, explore="all", classes_max=3)(uses_twice)()


def test_processes_give_the_report_of_one() -> None:
    """Would fail if a result depended on the number of processes."""

    def late() -> float:
        rank = dist.get_rank()
        if rank:
            dist.send(torch.tensor([float(rank)]), 0)
            return 0.0
        first, second = torch.zeros(1), torch.zeros(1)
        dist.recv(first)
        dist.recv(second)
        return first.item()

    texts = []
    for jobs in (1, 2, 3):
        with pytest.raises(simmesh.SpmdFailure) as raised:
            simmesh.spmd(world_size=3, schedules=30, jobs=jobs)(late)()
        texts.append(str(raised.value))
    assert texts[0] == texts[1] == texts[2]
    for jobs in (1, 2):
        runs = found(fsdp_step, world_size=2, schedules=5, jobs=jobs, certificate=False)
        assert runs.failure is None and runs.schedules == 5


def test_processes_make_backward_passes() -> None:
    """Would fail if a backward pass of this process forbade them to the processes of `jobs`, so
    that this process had to make their runs again.
    """
    begun = []

    def step() -> list[torch.Tensor]:
        begun.append(dist.get_rank())
        return fsdp_step()

    torch.ones((), requires_grad=True).backward()
    runs = found(step, world_size=2, schedules=6, jobs=2, certificate=False)
    assert runs.failure is None and runs.schedules == 6
    # The ranks of the first run; the other five runs were made by children.
    assert sorted(begun) == [0, 1]


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
def test_the_lowest_number_that_fails_is_found(jobs: int) -> None:
    """Would fail if a process that is ahead decided, or one that ends early were taken for one
    that passes.
    """
    assert first_that_fails(lambda number: number not in (5, 7, 11), 20, jobs) == 5
    assert first_that_fails(lambda number: True, 7, jobs) is None

    def ends(number: int) -> bool:
        if number == 4:
            raise SystemExit(3)
        return True

    assert first_that_fails(ends, 9, jobs) == 4


def test_a_failure_is_run_again_without_looks() -> None:
    """Would fail if an error that only looking brings were reported."""
    watches: list[Any] = []

    def run(schedule: Any, watch: str | None = None) -> Any:
        from simmesh.exploration import Trial

        watches.append(watch)
        outcome = simmesh.World(1).run(lambda rank: 1 / 0 if watch else 1)
        return Trial(schedule, outcome, [])

    runs = explore(run, ["fifo", "seeded:1"], certificate=True)
    assert runs.failure is None and watches == ["notes", None, None]


TESTS = """
import torch, torch.distributed as dist, simmesh

@simmesh.spmd(world_size=2)
def test_certain():
    dist.all_reduce(torch.ones(1))

@simmesh.spmd(world_size=3)
def test_orders():
    if dist.get_rank():
        dist.send(torch.ones(1), 0)
    else:
        dist.recv(torch.ones(1)), dist.recv(torch.ones(1))
"""

SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group()
work = dist.all_reduce(torch.ones(1), async_op=True)
if dist.get_rank() == 0:
    work.is_completed()
work.wait()
"""


def output(folder: Path, *words: str) -> str:
    """The output of a module of Python in a folder."""
    ran = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, text=True, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_pytest_says_how_much_was_explored(tmp_path: Path) -> None:
    """Would fail if an option of pytest had no effect, or its summary were silent."""
    (tmp_path / "test_them.py").write_text(TESTS)
    words = ["pytest", "-q", "-p", "no:cacheprovider"]
    assert f"simmesh: 1 test: {CERTIFICATE}" in output(tmp_path, *words)
    text = output(tmp_path, *words, "--simmesh-explore", "all")
    assert "test_them.py::test_orders: 2 classes of equivalent schedules, each run once" in text
    text = output(tmp_path, *words, "--simmesh-no-certificate", "--simmesh-jobs", "2")
    assert "simmesh:" not in text and "2 passed" in text


def test_the_command_explores_all_classes(tmp_path: Path) -> None:
    """Would fail if an option of the command had no effect."""
    (tmp_path / "train.py").write_text(SCRIPT)
    words = ["simmesh.torch", "--ranks", "3"]
    text = output(tmp_path, *words, "--explore", "all", "train.py")
    assert text.startswith("4 classes of equivalent schedules, each run once, data hash ")
    text = output(tmp_path, *words, "--schedules", "4", "--jobs", "2", "train.py")
    assert text.startswith("4 schedules, data hash ")
    (tmp_path / "train.py").write_text(SCRIPT.replace("work.is_completed()", "pass"))
    text = output(tmp_path, *words, "--schedules", "4", "train.py")
    assert text.startswith(f"{CERTIFICATE}, data hash ")
