"""``torch.cuda`` and ``torch.accelerator`` in ranks: what they answer, and what they refuse."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any, Callable, NoReturn

import torch
import torch.accelerator
import torch.cuda
import torch.cuda.nvtx

from simmesh import _core
from simmesh.torch.cuda import devices, memory, order, streams
from simmesh.torch.isolation.patches import Patches

# Submodules that define what torch.cuda has, too.
_MODULES = ("torch.cuda", "torch.cuda.memory", "torch.cuda.random", "torch.cuda.streams",
            "torch.cuda.graphs", "torch.accelerator", "torch.accelerator.memory")  # fmt: skip
# Constants, submodules, and classes of errors, which are as they are.
_KEPT = (
    "amp", "CudaError", "DeferredCudaCallError", "cudaStatus", "check_error", "has_half",
    "has_magma", "get_arch_list", "get_gencode_flags", "default_generators", "OutOfMemoryError",
    "AcceleratorError",
)  # fmt: skip


class device:
    """``torch.cuda.device`` and ``device_of``: another device for a while; None for no change."""

    def __init__(self, named: Any) -> None:
        if isinstance(named, torch.Tensor):
            place = devices.place(named)
            self._index = place if place is not None and place >= 0 else None
        else:
            is_none = named is None or (type(named) is int and named < 0)
            self._index = None if is_none else devices.index_or_current(named)

    def __enter__(self) -> None:
        self._before = devices.current()
        if self._index is not None:
            devices.set_current(self._index)

    def __exit__(self, *error: Any) -> None:
        devices.set_current(self._before)


class _Generators:
    """``torch.cuda.default_generators``: each is the one that the rank has."""

    def __len__(self) -> int:
        return devices.count()

    def __getitem__(self, index: int) -> torch.Generator:
        return torch.default_generator


def _set_device(device: Any) -> None:
    if not (type(device) is int and device < 0):
        devices.set_current(devices.index_or_current(device))


def _synchronize(device: Any = None) -> None:
    index = devices.index_or_current(device)
    found = order.current()
    if found is not None:
        found.join_device(index)


def _properties(device: Any = None) -> Any:
    index = devices.index_or_current(device)
    return SimpleNamespace(
        name=_name(index), major=0, minor=0, total_memory=memory.total(), is_integrated=True,
        is_multi_gpu_board=False, multi_processor_count=1, max_threads_per_multi_processor=1,
        warp_size=1, L2_cache_size=0, regs_per_multiprocessor=0, gcnArchName="", uuid=index,
        shared_memory_per_block=0, shared_memory_per_block_optin=0,
        shared_memory_per_multiprocessor=0,
    )  # fmt: skip


def _name(device: Any = None) -> str:
    return f"simmesh CPU {devices.index_or_current(device)}"


def _capability(device: Any = None) -> tuple[int, int]:
    devices.index_or_current(device)
    return 0, 0


# The rank has one generator, that of the CPU.
def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(int(seed))


def _seed_anew() -> None:
    torch.default_generator.seed()


def _rng_state(device: Any = None) -> torch.Tensor:
    devices.index_or_current(device)
    return torch.default_generator.get_state()


def _set_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
    devices.index_or_current(device)
    torch.default_generator.set_state(new_state)


def _set_rng_states(new_states: Iterable[torch.Tensor]) -> None:
    for each in new_states:
        torch.default_generator.set_state(each)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_bf16_supported": lambda including_emulation=True: True,
    "is_tf32_supported": lambda: False,
    "is_current_stream_capturing": lambda: False,
    "can_device_access_peer": lambda device, peer_device: True,
    "_is_in_bad_fork": lambda: False,
    "_lazy_init": memory.no_change,
    "init": memory.no_change,
    "device_count": devices.count,
    "current_device": devices.current,
    "set_device": _set_device,
    "synchronize": _synchronize,
    "get_device_properties": _properties,
    "get_device_name": _name,
    "get_device_capability": _capability,
    "get_sync_debug_mode": lambda: 0,
    "set_sync_debug_mode": memory.no_change,
    "current_stream": streams.current_stream,
    "default_stream": streams.default_stream,
    "set_stream": streams.set_stream,
    "stream": streams.StreamContext,
    "manual_seed": _seed,
    "manual_seed_all": _seed,
    "seed": _seed_anew,
    "seed_all": _seed_anew,
    "initial_seed": torch.default_generator.initial_seed,
    "get_rng_state": _rng_state,
    "get_rng_state_all": lambda: [_rng_state(index) for index in range(devices.count())],
    "set_rng_state": _set_rng_state,
    "set_rng_state_all": _set_rng_states,
    "memory_stats": memory.memory_stats,
    "host_memory_stats": memory.memory_stats,
    "memory_summary": memory.memory_summary,
    "mem_get_info": memory.mem_get_info,
    "get_allocator_backend": lambda: "native",
    "get_per_process_memory_fraction": lambda device=None: 1.0,
    **dict.fromkeys(
        ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
         "memory_cached", "max_memory_cached"), memory.nothing),
    **dict.fromkeys(
        ("empty_cache", "ipc_collect", "reset_peak_memory_stats", "reset_accumulated_memory_stats",
         "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_host_memory_stats",
         "reset_accumulated_host_memory_stats", "set_per_process_memory_fraction",
         "empty_host_cache"), memory.no_change),
    # Names that torch.accelerator alone has.
    "current_accelerator": lambda check_available=False: devices.device(devices.current()),
    "current_device_index": devices.current,
    "current_device_idx": devices.current,
    "set_device_index": _set_device,
    "set_device_idx": _set_device,
    "get_memory_info": memory.mem_get_info,
}  # fmt: skip

_CLASSES: dict[str, type] = {
    "Stream": streams.Stream, "Event": streams.Event, "StreamContext": streams.StreamContext,
    "device": device, "device_of": device, "device_index": device,
}  # fmt: skip

_RANGES: dict[str, Callable[..., Any]] = {
    "range_push": lambda msg: 0, "range_pop": lambda: 0, "mark": memory.no_change,
    "range_start": lambda msg: 0, "range_end": memory.no_change,
}  # fmt: skip


def install(patches: Patches) -> None:
    """Replaces the functions and classes of ``torch.cuda`` and ``torch.accelerator``."""
    for name in _MODULES:
        module = sys.modules.get(name)
        if module is not None:
            _install_in(patches, module, "torch.accelerator" if "accel" in name else "torch.cuda")
    patches.replace(torch.cuda, "default_generators", _Generators())
    for name, function in _RANGES.items():
        patches.in_ranks(torch.cuda.nvtx, name, function)


def _install_in(patches: Patches, module: ModuleType, public: str) -> None:
    for name, value in list(vars(module).items()):
        if name in _FUNCTIONS:
            patches.in_ranks(module, name, _FUNCTIONS[name])
        elif name in _CLASSES:
            patches.replace(module, name, _CLASSES[name])
        elif name in getattr(module, "__all__", ()) and name not in _KEPT:
            _install_other(patches, module, name, value, f"{public}.{name}")


def _install_other(
    patches: Patches, module: ModuleType, name: str, value: Any, full_name: str
) -> None:
    if isinstance(value, type) and name.endswith("Tensor"):
        patches.replace(module, name, getattr(torch, name, value))
    elif isinstance(value, type) and not name.endswith("Storage"):
        patches.replace(module, name, _refused_class(full_name))
    elif callable(value) and not isinstance(value, type):
        patches.in_ranks(module, name, refused(full_name))


def refuse(name: str) -> NoReturn:
    """Raises RuntimeError for what needs a GPU."""
    raise RuntimeError(
        f"[torch/cuda] rank {_core.rank()}: {name}: expected what a CPU can do in place of a GPU, "
        "got a function that needs one; device='cuda' runs the program on the CPU"
    )


@functools.cache
def refused(name: str) -> Callable[..., Any]:
    """A function that raises in place of the one with this name."""

    def refusing(*arguments: Any, **options: Any) -> NoReturn:
        refuse(name)

    return refusing


@functools.cache
def _refused_class(name: str) -> type:
    def new(cls: type, *arguments: Any, **options: Any) -> NoReturn:
        refuse(name)

    return type(name.rpartition(".")[2], (), {"__new__": new})
