"""Runs a Python function as the program of every rank, with torch's collectives between them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable

import torch

import simmesh
from simmesh import _core
from simmesh.torch import groups, kernels, operators, rank_state
from simmesh.torch.isolation import catalogue, sharding_caches
from simmesh.torch.isolation.environment import Environment
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.swap import Swap
from simmesh.torch.isolation.thread import isolated_groups, rank_thread
from simmesh.torch.schedules import FIFO, Schedule

#: The seed that torch's generator has in a new process.
TORCH_SEED = 67280421310721


@dataclass
class Run:
    """The outcome of a run, and each rank's return value (None where the program didn't return)."""

    outcome: _core.Outcome
    results: list[Any]


def torchrun_environment(rank: int, ranks: int) -> dict[str, str]:
    """The variables that torchrun sets for one process of a job on one machine."""
    return {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "GROUP_RANK": "0", "ROLE_RANK": str(rank),
        "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "ROLE_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": "localhost", "MASTER_PORT": "29500",
    }  # fmt: skip


def run(
    body: Callable[[int], Any],
    ranks: int,
    *,
    schedule: Schedule | str = FIFO,
    seed: int = 0,
    isolate: Sequence[str | tuple[Any, str]] = (),
    environment: Callable[[int], Mapping[str, str]] | None = None,
    **options: Any,
) -> Run:
    """Runs ``body(rank)`` on every rank. ``options`` are those of the core: arithmetic, release,
    timeout, program.

    ``seed`` is added to the seed that torch's generator has in a new process, the same on every
    rank, and gives Python's and numpy's generators a different one on each. ``environment`` gives
    the variables that a rank has in addition to the host's; torchrun's by default. ``isolate``
    names further state that each rank has for itself: dotted names, or pairs of an object and an
    attribute's name.
    """
    if _core.rank() is not None:
        raise RuntimeError(f"[torch/run] expected a host thread, got rank {_core.rank()} of a run")
    operators.install(kernels.KERNELS, groups.group_of)
    _core.internal_files([os.path.dirname(str(m.__file__)) + os.sep for m in (torch, simmesh)])
    results: list[Any] = [None] * ranks

    def program(rank: int) -> None:
        with rank_thread():
            results[rank] = body(rank)

    schedule = Schedule(schedule) if isinstance(schedule, str) else schedule
    variables = environment or (lambda rank: torchrun_environment(rank, ranks))
    with _isolation(ranks, seed, variables, isolate) as swap:
        outcome = _core.run(
            program, ranks=ranks, schedule=schedule.text, seed=schedule.seed,
            switched=swap.switched, **options,
        )  # fmt: skip
    return Run(outcome, results)


@contextmanager
def _isolation(
    ranks: int,
    seed: int,
    variables: Callable[[int], Mapping[str, str]],
    isolate: Sequence[str | tuple[Any, str]],
) -> Iterator[Swap]:
    patches = Patches()
    environment = Environment(variables)
    with isolated_groups(), sharding_caches.own_strategies():
        try:
            catalogue.install(patches)
            parts = catalogue.parts(TORCH_SEED + seed, environment, isolate)
            swap = Swap(parts, ranks)
            rank_state.begin(ranks, seed)
            try:
                yield swap
            finally:
                swap.restore_host()
                environment.restore_process(swap.states_of(environment))
                rank_state.end()
        finally:
            patches.undo()
