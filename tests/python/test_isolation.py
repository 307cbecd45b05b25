"""Each rank has for itself what a process of its own would have, and the host finds its state as it
was.
"""

from __future__ import annotations

import asyncio
import io
import logging
import multiprocessing
import multiprocessing.util
import os
import queue
import random
import secrets
import select
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
import torch.nn.modules.module as module_hooks
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication
from torch.distributed.tensor.parallel import loss_parallel

import simmesh

COUNTER = [0]


def on_ranks(program: Any, **options: Any) -> list[Any]:
    """Returns the value of ``program`` on each of 4 ranks; fails if the run does."""
    ran = simmesh.spmd_run(program, **options)
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def test_torch_generators_start_equal_and_go_on_alone() -> None:
    """Would fail if ranks drew from one generator."""

    def program() -> list[float]:
        first = torch.rand(1).item()
        for _ in range(dist.get_rank()):
            torch.rand(1)
        dist.barrier()
        return [first, torch.rand(1).item()]

    results = on_ranks(program)
    assert len({first for first, _ in results}) == 1
    assert len({second for _, second in results}) == 4


def test_seeded_generators_give_what_they_give_on_the_host() -> None:
    """Would fail if another rank's draws came between two of a rank's own."""

    def program() -> list[Any]:
        rank = dist.get_rank()
        torch.manual_seed(rank)
        random.seed(rank)
        numpy.random.seed(rank)
        drawn = []
        for _ in range(3):
            dist.barrier()
            drawn.append((torch.rand(1).item(), random.gauss(0, 1), numpy.random.randn()))
        return drawn

    for rank, drawn in enumerate(on_ranks(program, schedule="seeded:3")):
        torch.manual_seed(rank)
        random.seed(rank)
        numpy.random.seed(rank)
        for values in drawn:
            assert values == (torch.rand(1).item(), random.gauss(0, 1), numpy.random.randn())


def test_environment_is_each_ranks_own() -> None:
    """Would fail if a rank saw the variables of another one."""

    def program() -> tuple[str, str]:
        os.environ["SIMMESH_TEST"] = str(dist.get_rank())
        dist.barrier()
        return os.environ["SIMMESH_TEST"], os.environ["RANK"]

    assert on_ranks(program) == [(str(rank), str(rank)) for rank in range(4)]


def test_ranks_call_what_the_host_put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would fail if a function of a rank went past a replacement that the host made before."""
    original = subprocess.Popen.__init__
    seen: list[str] = []

    def noting(self: Any, *arguments: Any, **options: Any) -> None:
        seen.append(options["env"]["RANK"])
        original(self, *arguments, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", noting)
    on_ranks(lambda: subprocess.call(["true"]))
    assert sorted(seen) == ["0", "1", "2", "3"]
    assert subprocess.Popen.__init__ is noting


def test_processes_of_a_rank_have_its_environment() -> None:
    """Would fail if a process that a rank starts saw the variables of another one."""

    def program() -> list[str]:
        os.environ["SIMMESH_TEST"] = str(dist.get_rank())
        dist.barrier()
        own = {**os.environ, "SIMMESH_TEST": "own"}
        return [
            os.popen("echo $SIMMESH_TEST $RANK").read().strip(),
            subprocess.check_output("echo $SIMMESH_TEST", shell=True, text=True, env=own).strip(),
        ]

    assert on_ranks(program) == [[f"{rank} {rank}", "own"] for rank in range(4)]


def test_working_directory_is_each_ranks_own(tmp_path: Path) -> None:
    """Would fail if a rank's relative paths began where another rank went, or if a directory that
    is gone stopped the run.
    """

    def program() -> str:
        rank = dist.get_rank()
        if rank != 0:
            (tmp_path / str(rank)).mkdir(exist_ok=True)
            os.chdir(path=tmp_path / str(rank))
        if rank == 3:
            os.rmdir(tmp_path / "3")
        dist.barrier()
        if rank == 3:
            with pytest.raises(FileNotFoundError):
                os.getcwd()
            return "removed"
        return os.path.relpath(os.getcwd(), tmp_path)

    host = os.getcwd()
    assert on_ranks(program) == [os.path.relpath(host, tmp_path), "1", "2", "removed"]
    assert os.getcwd() == host


def test_random_ids_are_the_same_in_every_run() -> None:
    """Would fail if ids that ranks exchange changed a run's bits."""

    def program() -> tuple[Any, ...]:
        results: list[Any] = [uuid.uuid4(), secrets.token_hex(), random.Random().random()]
        dist.barrier()
        results += [numpy.random.default_rng().random(), random.SystemRandom().random()]
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
            return (*results, folder, file.name)

    first, second = on_ranks(program), on_ranks(program, schedule="seeded:4")
    assert first == second
    for ids in zip(*first):
        assert len(set(ids)) == 4


def test_random_ids_of_the_host_are_random() -> None:
    """Would fail if what makes ids for ranks stayed after the run."""
    on_ranks(lambda: None)
    for make in (uuid.uuid4, secrets.token_hex, lambda: random.Random().random()):
        assert make() != make()
    assert random.Random.__init__.__qualname__ == "Random.__init__"
    assert "simmesh" not in random.Random.__init__.__code__.co_filename


def test_contexts_of_distributed_tensors_are_each_ranks_own() -> None:
    """Would fail if the first rank that leaves a context ended it for the others."""

    def program() -> bool:
        mesh = init_device_mesh("cpu", (4,))
        tensor = distribute_tensor(torch.ones(4, 8), mesh, [Shard(1)]).detach().requires_grad_()
        with loss_parallel():
            torch.nn.functional.cross_entropy(tensor, torch.arange(4)).backward()
        with implicit_replication():
            dist.barrier()
            total = tensor.detach() + torch.ones(4, 8)
        return bool((total.full_tensor() == 2).all()) and tensor.grad is not None

    assert on_ranks(program) == [True] * 4


def test_hooks_of_modules_are_each_ranks_own() -> None:
    """Would fail if a rank's forward called the hook of another rank."""

    def program() -> int:
        calls: list[int] = []
        if dist.get_rank() == 1:
            module_hooks.register_module_forward_hook(lambda *_: calls.append(1))
        dist.barrier()
        torch.nn.Linear(2, 2)(torch.ones(2))
        return len(calls)

    assert on_ranks(program) == [0, 1, 0, 0]


def test_replaced_functions_are_each_ranks_own() -> None:
    """Would fail if a function that one rank put in place were seen by the others."""

    def program() -> bool:
        original = dist.all_gather
        if dist.get_rank() == 2:
            dist.all_gather = lambda *arguments, **options: None
        dist.barrier()
        return dist.all_gather is original

    before = dist.all_gather
    assert on_ranks(program) == [True, True, False, True]
    assert dist.all_gather is before


def test_arguments_and_streams_are_each_ranks_own() -> None:
    """Would fail if a rank saw what another one did to a list, or a list that equals its own."""
    before = list(sys.argv)

    def program() -> tuple[list[str], str]:
        name = f"rank {dist.get_rank()}"
        sys.argv = list(sys.argv)
        sys.stdout = io.StringIO()
        dist.barrier()
        sys.argv.append(name)
        print(name)
        dist.barrier()
        return sys.argv, sys.stdout.getvalue()

    names = [f"rank {rank}" for rank in range(4)]
    assert on_ranks(program) == [([*before, name], f"{name}\n") for name in names]
    assert sys.argv == before and not isinstance(sys.stdout, io.StringIO)

    on_ranks(lambda: sys.argv.append("in place"))
    assert sys.argv == before


def test_isolated_attributes_start_as_copies() -> None:
    """Would fail if a listed attribute were shared, or if the host's changed."""

    def program() -> int:
        COUNTER[0] += dist.get_rank()
        dist.barrier()
        return COUNTER[0]

    assert on_ranks(program, isolate=[f"{__name__}.COUNTER"]) == [0, 1, 2, 3]
    assert COUNTER == [0]


def test_sleeping_takes_virtual_time() -> None:
    """Would fail if ranks slept on the wall clock, or saw no time pass."""

    def program() -> float:
        begin = time.monotonic()
        time.sleep(800 * (1 + dist.get_rank()))
        return time.monotonic() - begin

    begin = time.monotonic()
    assert [round(each) for each in on_ranks(program)] == [800, 1600, 2400, 3200]
    assert time.monotonic() - begin < 30


def test_compiled_functions_run_uncompiled() -> None:
    """Would fail if a rank ran what was compiled for another one, or the host compiled no more."""
    compiled: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    def number(x: torch.Tensor) -> torch.Tensor:
        return x * (dist.get_rank() if dist.is_initialized() else 10)

    def program() -> list[float]:
        inside = torch.compile(number, backend=backend)
        return [inside(torch.ones(1)).item(), outside(torch.ones(1)).item()]

    outside = torch.compile(number, backend=backend)
    assert on_ranks(program) == [[rank, rank] for rank in range(4)]
    assert not compiled
    assert outside(torch.ones(1)).item() == 10
    assert len(compiled) == 1


def test_profiler_is_refused() -> None:
    """Would fail if two ranks could start the process's one profiler."""

    def program() -> None:
        with torch.autograd.profiler.profile():
            pass

    outcome = simmesh.spmd_run(program).outcome
    assert outcome.kind == "error"
    assert "expected no autograd profiler in a rank" in outcome.message


def test_switches_of_torch_are_each_ranks_own() -> None:
    """Would fail if the switches of one rank leaked to other ranks or later runs."""

    def switches() -> tuple[Any, ...]:
        return (
            torch.is_grad_enabled(),
            torch.ones(1).dtype,
            dist.get_debug_level().name,
            torch.is_anomaly_enabled(),
            torch.get_deterministic_debug_mode(),
            torch.get_float32_matmul_precision(),
        )

    def program() -> tuple[Any, ...]:
        if dist.get_rank() == 0:
            torch.set_grad_enabled(False)
            torch.set_default_dtype(torch.float64)
            dist.set_debug_level(dist.DebugLevel.DETAIL)
            torch.autograd.set_detect_anomaly(True)
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.set_float32_matmul_precision("high")
        dist.new_group([0, 1])
        dist.barrier()
        return switches()

    before = switches()
    assert before == (True, torch.float32, "OFF", False, 0, "highest")
    for _ in range(2):
        changed = (False, torch.float64, "DETAIL", True, 1, "high")
        assert on_ranks(program) == [changed, *[before] * 3]
        assert switches() == before


SHARED: list[Any] = [None]


def test_a_group_of_another_rank_is_refused() -> None:
    """Would fail if a group that a module keeps for all ranks computed something."""

    def program() -> None:
        SHARED[0] = SHARED[0] or dist.new_group([0, 1, 2, 3])
        SHARED[0].allreduce([torch.ones(1)]).wait()

    outcome = simmesh.spmd_run(program).outcome
    assert outcome.kind == "error"
    assert "expected a group that this rank made" in outcome.message
    SHARED[0] = None
    assert simmesh.spmd_run(program, isolate=[f"{__name__}.SHARED"]).outcome.ok


def host_state() -> dict[str, Any]:
    """Returns the state that a run could leave behind in the process."""
    return {
        "world": c10d._world,
        "default group": dist.is_initialized(),
        "groups": dict(c10d._world.pg_map),
        "environment": dict(os.environ),
        "excepthook": sys.excepthook,
        "streams": (sys.stdout, sys.stderr),
        "filters": list(warnings.filters),
        "hooks": [(name, list(value)) for name, value in vars(module_hooks).items()
                  if name.startswith("_global_") and isinstance(value, dict)],
        "functions": {name: vars(dist)[name] for name in vars(dist) if callable(vars(dist)[name])},
        "clocks": (time.sleep, time.time, time.monotonic, time.perf_counter),
        "torch's generator": torch.get_rng_state().tolist(),
        "other generators": (random.getstate(), str(numpy.random.get_state())),
        "threads of operators": torch.get_num_threads(),
        "process id": os.getpid(),
        "directory": os.getcwd(),
        "open files": os.listdir("/proc/self/fd"),
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["returns", "raises", "deadlocks"])
def test_nothing_is_left_behind(ending: str) -> None:
    """Would fail if a run, however it ends, changed the process."""

    def program() -> None:
        dist.new_group([0, 1])
        os.environ["SIMMESH_TEST"] = "left"
        torch.manual_seed(5)
        random.random()
        numpy.random.rand()
        warnings.simplefilter("error")
        module_hooks.register_module_forward_hook(lambda *_: None)
        sys.excepthook = lambda *_: None
        os.chdir("/")
        if dist.get_rank() == 0 and ending == "raises":
            raise ValueError("on purpose")
        if dist.get_rank() != 0 or ending != "deadlocks":
            dist.barrier()

    simmesh.spmd_run(lambda: None)
    before, threads = host_state(), threading.active_count()
    for _ in range(3):
        outcome = simmesh.spmd_run(program).outcome
        assert outcome.kind == {"returns": None, "raises": "error", "deadlocks": "deadlock"}[ending]
    assert host_state() == before
    assert threading.active_count() == threads
    assert os.popen("echo $SIMMESH_TEST").read().strip() == ""


def test_warnings_go_to_the_rank_that_records_them() -> None:
    """Would fail if the functions that show a warning were another rank's."""

    def program() -> list[str]:
        rank = dist.get_rank()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn(f"before from {rank}", stacklevel=1)
            dist.barrier()
            warnings.warn(f"after from {rank}", stacklevel=1)
        return [str(each.message) for each in seen]

    expected = [[f"before from {rank}", f"after from {rank}"] for rank in range(4)]
    assert on_ranks(program) == expected


def test_loggers_have_handlers_and_levels_of_each_rank(tmp_path: Path) -> None:
    """Would fail if one rank's format, level or file got the records of all."""
    logger = logging.getLogger("simmesh.test")

    def program() -> str:
        rank = dist.get_rank()
        path = tmp_path / f"{rank}.log"
        handler = logging.FileHandler(path, delay=True)
        handler.setFormatter(logging.Formatter(f"[{rank}] %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO if rank else logging.ERROR)
        fresh = logging.getLogger("simmesh.test.fresh")
        dist.barrier()
        logger.info("one")
        dist.barrier()
        fresh.error("two")
        return path.read_text()

    for _ in range(2):
        results = on_ranks(program)
        assert results[0] == "[0] two\n"
        assert results[1:] == [f"[{rank}] one\n[{rank}] two\n" for rank in (1, 2, 3)]
        assert logger.handlers == []
        assert logger.level == logging.NOTSET
        assert logging.getLogger("simmesh.test.fresh").handlers == []
        for path in tmp_path.iterdir():
            path.unlink()


def test_loggers_that_a_rank_makes_end_with_their_last_use() -> None:
    """Would fail if a rank's values kept a logger, or another one at its address got them."""

    def program() -> None:
        made = []
        for level in (logging.DEBUG, logging.ERROR):
            logger = logging.Logger("simmesh.test.own")
            assert logger.level == logging.NOTSET
            logger.setLevel(level)
            made.append(weakref.ref(logger))
            dist.barrier()
            assert logger.level == level
            del logger
        assert [each() for each in made] == [None, None]
        assert all(each() for each in vars(logging.Logger)["level"]._values[dist.get_rank()])

    on_ranks(program)


def test_print_options_paths_and_recursion_limits_are_the_ranks_own() -> None:
    """Would fail if a rank's switches of torch and Python were those of the last one that ran."""
    before = sys.path[:], sys.getrecursionlimit(), str(torch.tensor(1 / 3))

    def program() -> tuple[str, str, int]:
        rank = dist.get_rank()
        torch.set_printoptions(precision=rank + 1)
        sys.path.insert(0, f"/of/{rank}")
        sys.setrecursionlimit(5000 + rank)
        dist.barrier()
        return str(torch.tensor(1 / 3)), sys.path[0], sys.getrecursionlimit()

    results = on_ranks(program)
    for rank, (text, path, limit) in enumerate(results):
        assert text == f"tensor(0.{'3' * (rank + 1)})"
        assert (path, limit) == (f"/of/{rank}", 5000 + rank)
    assert (sys.path[:], sys.getrecursionlimit(), str(torch.tensor(1 / 3))) == before


def test_waits_with_a_time_limit_end_by_it() -> None:
    """Would fail if loops that wait for a clock went on for ever, or took the wall's time."""

    def program() -> tuple[bool, bool, float]:
        begin = time.monotonic()
        was_set = threading.Event().wait(100)
        try:
            queue.Queue().get(timeout=100)
            got = True
        except queue.Empty:
            got = False
        asyncio.run(asyncio.sleep(100))
        read, write = os.pipe()
        select.select([read], [], [], 0.01)
        os.close(read)
        os.close(write)
        return was_set, got, time.monotonic() - begin

    begin = time.perf_counter()
    for was_set, got, seconds in on_ranks(program):
        assert (was_set, got) == (False, False)
        assert 300 <= seconds < 301
    assert time.perf_counter() - begin < 30


def test_no_thread_is_left() -> None:
    """Would fail if threads of ranks stayed in Python's list."""

    def program() -> str:
        return threading.current_thread().name

    on_ranks(program)
    before = threading.active_count()
    on_ranks(program)
    assert threading.active_count() == before


def test_a_forked_child_is_no_rank() -> None:
    """Would fail if a collective in a child waited for ranks that aren't there."""

    def program() -> int:
        child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(torch.ones(1))
                os._exit(0)
            except RuntimeError:
                os._exit(7)
        dist.barrier()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert on_ranks(program) == [7] * 4


def test_processes_that_ranks_leave_are_the_hosts() -> None:
    """Would fail if the host's exit hook refused to join them, or if daemons went on."""

    def program() -> None:
        context = multiprocessing.get_context("fork")
        context.Process(target=time.sleep, args=(600,), daemon=True).start()
        context.Process(target=os._exit, args=(3,)).start()

    begin = time.perf_counter()
    on_ranks(program)
    assert not any(child.daemon for child in multiprocessing.active_children())
    for child in multiprocessing.active_children():  # as the exit hook does
        child.join()
    assert not multiprocessing.active_children()
    assert time.perf_counter() - begin < 60


def test_process_ids_are_known_to_the_system() -> None:
    """Would fail if ``psutil`` or ``/proc`` knew no process of a rank's id, if two ranks or two
    runs had other ones, or if a signal to a rank reached the host.
    """

    def program() -> int:
        assert Path(f"/proc/{os.getpid()}/status").is_file()
        assert "Name" in Path("/proc/self/status").read_text()
        os.kill(os.getpid(), 0)
        with pytest.raises(RuntimeError, match="expected no signal to a rank"):
            os.kill(os.getpid(), 15)
        return os.getpid()

    first = on_ranks(program)
    assert len({*first, os.getpid()}) == 5
    assert on_ranks(program, schedule="seeded:1") == first


def put_variables(queue: Any) -> None:
    """The program of a process that a rank starts."""
    queue.put((os.environ["RANK"], os.environ["SIMMESH_TEST"]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_are_the_ranks(method: str) -> None:
    """Would fail if a child had other variables, or if what it put into a queue never came."""

    def program() -> Any:
        os.environ["SIMMESH_TEST"] = str(dist.get_rank())
        dist.barrier()
        context: Any = multiprocessing.get_context(method)
        queue = context.Queue()
        process = context.Process(target=put_variables, args=(queue,))
        process.start()
        found = queue.get(timeout=60)
        process.join()
        ended: list[int] = []
        multiprocessing.util.Finalize(queue, ended.append, (1,), exitpriority=0)()
        return found, ended, process.exitcode

    expected = [((str(rank), str(rank)), [1], 0) for rank in range(2)]
    assert on_ranks(program, world_size=2) == expected
