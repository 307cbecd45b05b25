"""Runs a Python function as the program of every rank, with torch's collectives between them."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable

from simmesh import _core
from simmesh.spmd import RANKS_MAX, SEATS
from simmesh.torch import (
    async_save,
    cuda,
    groups,
    kernels,
    operators,
    rank_state,
    unwatched,
)
from simmesh.torch.blocked_rank import end_at_exit
from simmesh.torch.calls import Calls
from simmesh.torch.internal_files import internal_files
from simmesh.torch.isolation import catalogue, packages, sharding_caches, threads
from simmesh.torch.isolation.environment import Environment
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.rank_logging import HandlerLists
from simmesh.torch.isolation.swap import Swap
from simmesh.torch.isolation.thread import isolated_groups, rank_thread
from simmesh.torch.schedules import FIFO, Schedule
from simmesh.torch.shared_state import SharedState

#: The seed that torch's generator has in a new process.
TORCH_SEED = 67280421310721

# The state that ranks have for themselves is that of the process, so runs follow one another.
_ONE_RUN = threading.Lock()


@dataclass
class Run:
    """The outcome of a run, and each rank's return value (None where the program didn't return).

    ``made_groups`` is False if no rank made a process group: then none can have communicated.
    ``isolated`` are the packages whose state each rank had for itself. ``calls`` are the operations
    that each rank started. ``unwatched`` is what ranks used that no schedule knows of, in words, if
    the run looked for that.
    """

    outcome: _core.Outcome
    results: list[Any]
    made_groups: bool = True
    isolated: tuple[str, ...] = ()
    calls: list[Calls] = field(default_factory=list)
    unwatched: tuple[str, ...] = ()


def torchrun_environment(rank: int, ranks: int, per_node: int | None = None) -> dict[str, str]:
    """The variables that torchrun sets for one process of a job: on one machine, unless
    ``per_node`` says how many ranks share one.
    """
    local = per_node or ranks
    variables = {
        "RANK": str(rank), "LOCAL_RANK": str(rank % local), "GROUP_RANK": str(rank // local),
        "ROLE_RANK": str(rank), "ROLE_NAME": "default", "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(min(local, ranks - rank // local * local)),
        "GROUP_WORLD_SIZE": str(-(-ranks // local)), "ROLE_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "localhost", "MASTER_PORT": "29500",
        "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": "none",
    }  # fmt: skip
    if "OMP_NUM_THREADS" not in os.environ and local > 1:
        variables["OMP_NUM_THREADS"] = "1"
    return variables


def run(
    body: Callable[[int], Any],
    ranks: int,
    *,
    schedule: Schedule | str = FIFO,
    seed: int = 0,
    isolate: Sequence[str | tuple[Any, str]] = (),
    environment: Callable[[int], Mapping[str, str]] | None = None,
    allow_strided: bool = False,
    local: str = "plain",
    check_accesses: bool = True,
    device: str = "cpu",
    watch: str | None = None,
    watched: Any = None,
    seats: str = "threads",
    run_ahead: bool = True,
    **options: Any,
) -> Run:
    """Runs ``body(rank)`` on every rank. ``options`` are those of the core: arithmetic, release,
    timeout, program, search.

    ``seed`` is added to the seed that torch's generator has in a new process, the same on every
    rank, and gives Python's and numpy's generators a different one on each. ``environment`` gives
    the variables that a rank has in addition to the host's; torchrun's by default. ``isolate``
    names further state that each rank has for itself: dotted names, or pairs of an object and an
    attribute's name. ``allow_strided`` lets tensors with gaps into collectives, which gloo and NCCL
    refuse or get wrong. ``local="exact"`` computes the operators of ranks with exact values, and
    reports accesses to buffers under way unless ``check_accesses`` is False. ``device="cuda"`` runs
    programs that ask for CUDA on the CPU, and reports uses of a tensor on two streams that nothing
    orders, unless ``check_accesses`` is False.

    ``watch="notes"`` looks for all that ranks could see in another order and that no schedule knows
    of, from the variables of the function ``watched`` on. ``watch="asks"`` lets the schedule choose
    at accesses to buffers under way, and ``watch="all"`` does both.

    ``seats="processes"`` forks a process for each rank, which has its own memory. With
    ``run_ahead`` processes compute at the same time while nothing of it depends on other ranks.

    Runs of several threads of the host follow one another. Raises ValueError for more ranks than
    there can be threads.
    """
    if _core.rank() is not None:
        raise RuntimeError(f"[torch/run] expected a host thread, got rank {_core.rank()} of a run")
    operators.install(kernels.KERNELS, groups.group_of)
    _show_python_calls_of_crashes()
    _core.internal_files(internal_files())
    if not 1 <= ranks <= RANKS_MAX:
        raise ValueError(
            f"[torch/run] ranks: expected 1 to {RANKS_MAX}, since each is a thread, got {ranks}"
        )
    if seats not in SEATS:
        raise ValueError(f"[torch/run] seats: expected {' or '.join(SEATS)}, got {seats!r}")
    schedule = Schedule(schedule) if isinstance(schedule, str) else schedule
    variables = environment or (lambda rank: torchrun_environment(rank, ranks))
    timeout = options.setdefault("timeout", 60.0)
    shared = {
        "ranks": ranks, "seed": seed, "allows_strided": allow_strided, "timeout": timeout
    }  # fmt: skip
    program = _Program(
        body, shared, functools.partial(_operators, local, check_accesses, device, watch)
    )
    options.update(ranks=ranks, schedule=schedule.text, seed=schedule.seed)
    # A compiler would not see the operators of these modes.
    compiles = seats == "processes" and local == "plain" and device == "cpu"
    state = variables, isolate, device, watch, seats == "threads", compiles
    isolation = functools.partial(_isolation, shared, *state)
    with _ONE_RUN:
        if seats == "processes":
            ran = program.run_processes(isolation, run_ahead and watch is None, options)
        else:
            looks = (watched or body) if watch in ("notes", "all") else None
            ran = program.run_threads(isolation, looks, options)
        if ran.outcome.ok:
            packages.check_all_were_there(
                [each for each in isolate if isinstance(each, str) and packages.is_package(each)],
                ran.isolated,
            )
    if watch and local == "exact" and not check_accesses:
        ran.unwatched = (*ran.unwatched, "accesses to buffers under way were not checked")
    if ran.outcome.kind == "blocked" and ran.outcome.rank in program.threads:
        end_at_exit(program.threads[ran.outcome.rank])
    return ran


class _Program:
    """The program of the ranks of one run, with threads or processes as their seats."""

    def __init__(
        self, body: Callable[[int], Any], shared: dict[str, Any], operators: Callable[[], Any]
    ) -> None:
        self._body = body
        self._shared = shared
        self._operators = operators
        self.threads: dict[int, int] = {}
        self._results: list[Any] = [None] * shared["ranks"]

    def run_threads(
        self, isolation: Callable[[], Any], looked_at: Any, options: dict[str, Any]
    ) -> Run:
        """Runs the program in threads; looks at variables from ``looked_at`` on, unless None."""
        with isolation() as swap:
            looks = _Looks(looked_at, swap) if looked_at is not None else None

            def run_rank(rank: int) -> None:
                self.threads[rank] = threading.get_ident()
                self._results[rank] = self._run_rank(rank)

            outcome = _core.run(
                run_rank, switched=looks or swap.switched, explain=rank_state.explain_standstill,
                **options,
            )  # fmt: skip
            noted = rank_state.unwatched() if looks is None else looks.noted()
            return Run(
                outcome, self._results, rank_state.made_groups(), tuple(packages.isolated()),
                rank_state.calls_of_ranks(), noted,
            )  # fmt: skip

    def run_processes(
        self, isolation: Callable[[], Any], run_ahead: bool, options: dict[str, Any]
    ) -> Run:
        """Runs the program in processes, whose seats wait for them."""
        from simmesh.torch.processes.rank_processes import RankProcesses

        ranks = options["ranks"]
        processes = RankProcesses(ranks, options["timeout"], run_ahead)

        def run_rank(rank: int) -> None:
            self._results[rank] = processes.run_rank(rank)

        try:
            # The processes keep what replaces functions in ranks.
            with isolation() as swap:
                processes.fork(self._run_rank, lambda rank: swap.switched(rank, rank))
            rank_state.begin(**self._shared)
            # Seats look at the time themselves, since a process can be ended.
            outcome = _core.run(
                run_rank, explain=rank_state.explain_standstill, **{**options, "timeout": 0.0}
            )
            calls, made_groups, isolated, noted = processes.tell_states()
        finally:
            rank_state.end()
            processes.end()
        return Run(outcome, self._results, made_groups, isolated, calls, noted)

    def _run_rank(self, rank: int) -> Any:
        with rank_thread():
            state = rank_state.of_rank()
            state.operators = self._operators
            state.process_id = threading.get_native_id()
            try:
                with state.operators():
                    result = self._body(rank)
                    threads.end_of_program()
            finally:
                async_save.end_of_program()
            state.shared.joint_calls.end(rank)
        return result


class _Looks:
    """Looks at what ranks share whenever the turn passes from one to another."""

    def __init__(self, program: Any, swap: Swap) -> None:
        isolated = packages.KNOWN
        self._state = SharedState(
            program, lambda module: packages.belongs(module) or module.split(".")[0] in isolated
        )
        self._swap = swap
        self._last: tuple[int, int] | None = None
        self._changed = ""

    def __call__(self, rank: int, seat: int) -> None:
        last = self._last
        if last is not None:
            if not self._changed and (changed := self._state.look()):
                self._changed = f"rank {last[0]} changed {changed}"
            unwatched.look_at_locks(*last)
        self._swap.switched(rank, seat)
        self._state.swapped()
        self._last = rank, seat

    def noted(self) -> tuple[str, ...]:
        """The things that ranks used and no schedule knows of."""
        if not self._changed and self._last is not None and (changed := self._state.look()):
            self._changed = f"rank {self._last[0]} changed {changed}"
        own = [self._changed, self._state.unknown]
        return (*filter(None, own), *rank_state.unwatched())


@contextmanager
def _operators(local: str, check_accesses: bool, device: str, watch: str | None) -> Iterator[None]:
    """The operators of a rank: torch's own, or exact ones, on the CPU or under CUDA's names."""
    with contextlib.ExitStack() as modes:
        if watch is not None and local != "exact":
            from simmesh.torch.watched_accesses import watched_accesses

            modes.enter_context(watched_accesses(asks=watch != "notes"))
        if device == "cuda":
            modes.enter_context(cuda.operators())
        if local == "exact":
            from simmesh.torch.exact.mode import exact_operators

            modes.enter_context(exact_operators(check_accesses))
        if device == "cuda" and check_accesses:
            modes.enter_context(cuda.order_of_streams())
        yield


def _show_python_calls_of_crashes() -> None:
    """Lets a fault in C code print the Python calls of all threads, after the core's report."""
    if not faulthandler.is_enabled():
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # stderr may be no file
            faulthandler.enable()


@contextmanager
def _isolation(
    shared: dict[str, Any],
    variables: Callable[[int], Mapping[str, str]],
    isolate: Sequence[str | tuple[Any, str]],
    device: str,
    watch: str | None,
    in_one_process: bool,
    compiles: bool,
) -> Iterator[Swap]:
    patches = Patches()
    environment = Environment(variables)
    handlers = HandlerLists()
    with isolated_groups(), sharding_caches.own_strategies():
        try:
            catalogue.install(patches, in_one_process, compiles)
            if device == "cuda":
                cuda.install(patches)
            if watch is not None:
                unwatched.install(patches)
            parts = catalogue.parts(TORCH_SEED + shared["seed"], environment, handlers, isolate)
            swap = Swap(parts, shared["ranks"])
            rank_state.begin(**shared)
            try:
                yield swap
            finally:
                swap.restore_host()
                environment.restore_process(swap.states_of(environment))
                handlers.close(swap.states_of(handlers))
                rank_state.end()
        finally:
            patches.undo()
