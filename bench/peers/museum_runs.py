"""Runs an exhibit's program in a process, on gloo, on threads or under LocalTensor, and collects
what a careful user compares: what the program returns and notes, and the parameters, gradients and
buffers that it ends with, by their names in the model.

A worker of museum_workers.py runs a Job by one of RUNS, which gives its Outcomes: one of gloo's
rank and of threads, and those of all ranks of LocalTensor.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.optim.optimizer import register_optimizer_step_pre_hook

import museum_local_tensor
import simmesh
from museum_idle import ends
from simmesh.museum.collection import Card, cards
from simmesh.museum.exhibit import Exhibit
from simmesh.one_device.names import Names
from simmesh.one_device.notebook import leaves

Values = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Job:
    """A program of an exhibit on a layout; ``place`` is a folder for its files and for gloo's.
    ``kind`` is the run that asks for it, and ``waits`` has the seconds that gloo does.
    """

    name: str
    variant: str
    layout: dict[str, int]
    place: str
    rank: int = 0
    steps: int | None = None
    has_folder: bool = False
    kind: str = ""
    waits: float = 60.0


@dataclass
class Outcome:
    """The error of a rank, "" if it raised none, and its values."""

    error: str = ""
    values: Values = field(default_factory=dict)


def card_of(name: str) -> Card:
    """An exhibit by its name."""
    return next(card for card in cards() if card.name == name)


def bound(job: Job, exhibit: Exhibit) -> Callable[[], Any]:
    """The program of a job, with the arguments that it takes. Needs a process group."""
    program = getattr(exhibit, job.variant)
    if not inspect.signature(program).parameters:
        return program  # type: ignore[no-any-return]
    names, sizes = tuple(job.layout), tuple(job.layout.values())
    arguments: list[Any] = [init_device_mesh("cpu", sizes, mesh_dim_names=names)]
    if job.has_folder:
        arguments.append(Path(job.place))
    if job.steps is not None:
        arguments.append(job.steps)
    return lambda: program(*arguments)


@contextlib.contextmanager
def collected(values: Values) -> Iterator[Callable[[Any], None]]:
    """Collects what programs note, and lets the caller add what one returns and ends with."""
    names, depth = Names(), [0]

    def before(module: torch.nn.Module, arguments: Any) -> None:
        if depth[0] == 0:
            names.add_root(module)
        depth[0] += 1

    def after(module: torch.nn.Module, arguments: Any, output: Any) -> None:
        depth[0] -= 1

    def before_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        for index, each in enumerate(parameters):
            if names.of_parameter(each) is None:
                names.add_stray(f"parameter {index} of {type(optimizer).__name__}", each)

    def note(name: str, value: Any, *, whole: bool = False) -> Any:
        _add(values, f"noted value {name}", value)
        return value

    def end(returned: Any) -> None:
        _add(values, "returned value", returned)
        for name, parameter in names.parameters.items():
            if isinstance(parameter, torch.Tensor):
                _add(values, f"parameter {name}", parameter)
                _add(values, f"gradient of {name}", parameter.grad)
        for name, buffer in names.buffers():
            _add(values, f"buffer {name}", buffer)

    modules = torch.nn.modules.module
    handles = [
        modules.register_module_forward_pre_hook(before),
        modules.register_module_forward_hook(after, always_call=True),
        register_optimizer_step_pre_hook(before_step),
    ]
    original, simmesh.note = simmesh.note, note  # type: ignore[assignment]
    try:
        yield end
    finally:
        simmesh.note = original
        for handle in handles:
            handle.remove()


def _add(values: Values, name: str, value: Any) -> None:
    for suffix, leaf in leaves(value):
        tensor = leaf.to_local() if isinstance(leaf, DTensor) else torch.as_tensor(leaf)
        values[name + suffix] = tensor.detach().clone()


def on_gloo(job: Job) -> list[Outcome]:
    """Runs a job as a rank of gloo."""
    size = 1
    for each in job.layout.values():
        size *= each
    outcome = Outcome()
    level = dist.DebugLevel.DETAIL if job.kind == "gloo" else dist.DebugLevel.OFF
    dist.set_debug_level(level)
    try:
        dist.init_process_group(
            "gloo", init_method=f"file://{job.place}/store_{job.variant}_{job.steps}_{size}",
            rank=job.rank, world_size=size, timeout=timedelta(seconds=job.waits),
        )  # fmt: skip
        with collected(outcome.values) as end, _types(job.kind == "spmd_types"):
            end(bound(job, card_of(job.name).load())())
    except Exception:  # whatever a program raises is its finding
        outcome.error = traceback.format_exc()
    finally:
        with contextlib.suppress(Exception):
            dist.destroy_process_group()
    return [outcome]


@contextlib.contextmanager
def _types(is_typed: bool) -> Iterator[None]:
    if not is_typed:
        yield
        return
    from spmd_types.checker import typecheck

    with typecheck(strict_mode="permissive"):
        yield


def on_threads(job: Job) -> list[Outcome]:
    """Runs a job on the threaded process group of PyTorch's tests."""
    from torch.testing._internal.distributed.multi_threaded_pg import (
        ProcessLocalGroup,
        _install_threaded_pg,
        _uninstall_threaded_pg,
    )

    size = torch.Size(job.layout.values()).numel()
    errors: list[str] = []
    exhibit = card_of(job.name).load()

    def run(rank: int) -> None:
        dist.init_process_group("threaded", rank=rank, world_size=size, store=store)
        try:
            bound(job, exhibit)()
        except BaseException as error:
            errors.append(traceback.format_exc())
            ProcessLocalGroup.exception_handle(error)
        finally:
            dist.destroy_process_group()

    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    _install_threaded_pg()
    store = dist.HashStore()
    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(size)]
    for each in threads:
        each.start()
    if not ends(lambda: not any(each.is_alive() for each in threads)):
        return [Outcome("TimeoutError: a rank did not end")]
    ProcessLocalGroup.reset()
    _uninstall_threaded_pg()
    torch._C._distributed_c10d._set_thread_isolation_mode(False)
    return [Outcome(errors[0] if errors else "")]


def under_local_tensor(job: Job) -> list[Outcome]:
    """Runs a job for all ranks at once, with LocalTensor."""
    from torch.distributed._local_tensor import LocalTensorMode
    from torch.testing._internal.distributed.fake_pg import FakeStore

    size = torch.Size(job.layout.values()).numel()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=size)
    values: Values = {}
    # Tensors of the module itself are made outside of the mode, as by an import.
    exhibit = museum_local_tensor.exhibit_of(card_of(job.name))
    try:
        with LocalTensorMode(size), collected(values) as end:
            end(bound(job, exhibit)())
            by_rank = museum_local_tensor.values_by_rank(values, size)
    except Exception:  # whatever a program raises is its finding
        return [Outcome(traceback.format_exc())]
    finally:
        dist.destroy_process_group()
    return [Outcome(values=each) for each in by_rank]


RUNS = {"gloo": on_gloo, "threads": on_threads, "local_tensor": under_local_tensor}
