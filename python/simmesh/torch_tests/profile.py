"""Stands for the autograd profiler in torch's tests in a rank: it has the collectives that the
rank started.

The real profiler is one for the process and can't run in two ranks; these tests look in it for
their collectives only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.autograd.profiler import profile
from torch.autograd.profiler_util import EventList

from simmesh.torch import operators, rank_state
from simmesh.torch.isolation.patches import Patches

# The names that a backend gives its collectives, where they aren't the operator's.
_TITLES = {
    "allreduce_": "all_reduce", "allreduce_coalesced_": "all_reduce", "allgather_": "all_gather",
    "allgather_coalesced_": "all_gather",
    "_allgather_base_": "_all_gather_base",
    "alltoall_": "all_to_all", "alltoall_base_": "all_to_all",
    "_reduce_scatter_base_": "_reduce_scatter_base", "recv_any_source_": "recvAnySource",
}  # fmt: skip


@contextmanager
def rank_profiles() -> Iterator[None]:
    """Replaces the profiler for ranks while tests run."""
    patches = Patches()
    patches.in_ranks(profile, "__enter__", _enter)
    patches.in_ranks(profile, "_prepare_trace", lambda self: None)
    patches.in_ranks(profile, "_start_trace", _enter)
    patches.in_ranks(profile, "__exit__", _exit)
    operators.observers.append(_note)
    try:
        yield
    finally:
        operators.observers.remove(_note)
        patches.undo()


def _enter(self: Any) -> Any:
    if not self.enabled:
        return None
    _profiles().append(self)
    self._function_events, self._needs_processing, self.entered = EventList([]), False, True
    return self


def _exit(self: Any, *exception: Any) -> bool:
    if self.enabled:
        _profiles().remove(self)
    return False


def _profiles() -> list[Any]:
    state = rank_state.of_rank()
    if not hasattr(state, "profiles"):
        state.profiles = []  # type: ignore[attr-defined]
    found: list[Any] = state.profiles  # type: ignore[attr-defined]
    return found


def _note(name: str, process_group: Any, arguments: Any) -> None:
    for each in _profiles():
        title = _TITLES.get(name, name.strip("_"))
        event = SimpleNamespace(
            name=f"{torch.distributed.get_backend(process_group)}:{title}",
            is_async=True,
            count=1,
            cpu_time=0.0,
            input_shapes=[list(tensor.shape) for tensor in _tensors(name, arguments)],
            device_type=DeviceType.CPU,
        )
        each._function_events.append(event)


def _tensors(name: str, arguments: Any) -> list[torch.Tensor]:
    inputs = arguments[1] if isinstance(arguments[1], (list, torch.Tensor)) else arguments[0]
    inputs = [inputs] if isinstance(inputs, torch.Tensor) else inputs
    return [tensor for each in inputs for tensor in (each if isinstance(each, list) else [each])]
