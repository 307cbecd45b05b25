"""Parts of torch that take a name of CUDA's without being functions of tensors: meshes, modules,
generators, files, scalers, and the backward pass, in which the names are known too.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.amp.autocast_mode
import torch.amp.grad_scaler
import torch.cuda._pin_memory_utils
import torch.distributed as dist
import torch.distributed.device_mesh
import torch.distributed.distributed_c10d as c10d
import torch.nn.attention.flex_attention
from torch.nn.parallel import DataParallel, DistributedDataParallel

from simmesh import _core
from simmesh.torch.cuda import devices, functions, order, streams
from simmesh.torch.cuda.moves import CudaNames
from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets these take CUDA's names in ranks."""
    mesh = torch.distributed.device_mesh.DeviceMesh
    patches.around_in_ranks(mesh, "__init__", _make_mesh)
    patches.around_in_ranks(DistributedDataParallel, "__init__", _make_ddp)
    patches.in_ranks(DataParallel, "__init__", functions.refused("torch.nn.DataParallel"))
    patches.replace(torch, "Stream", streams.Stream)
    patches.replace(torch, "Event", streams.AcceleratorEvent)
    patches.in_ranks(torch.Tensor, "record_stream", _record_stream)
    patches.replace(torch, "Generator", _Generator)
    patches.around_in_ranks(torch.amp.grad_scaler.GradScaler, "__init__", _make_scaler)
    patches.around_in_ranks(torch, "load", _load)
    patches.around_in_ranks(torch, "set_default_tensor_type", _set_default_type)
    for kind in (torch.UntypedStorage, torch.TypedStorage):
        for name in ("cuda", "pin_memory"):
            patches.in_ranks(kind, name, _copy_storage)
    for name in ("pin_memory", "unpin_memory"):
        patches.in_ranks(torch.cuda._pin_memory_utils, name, _change_nothing)
    # Uncompiled, it is made of operators that have gradients on the CPU, too.
    patches.in_ranks(torch.nn.attention.flex_attention, "_validate_device", _change_nothing)
    for owner in (torch.autograd, torch.autograd.graph):
        patches.around_in_ranks(owner, "_engine_run_backward", _run_backward)
    for owner in (dist, c10d):
        patches.in_ranks(owner, "is_nccl_available", lambda: True)


def _kind(device_type: Any) -> Any:
    return "cpu" if device_type == "cuda" else device_type


def _make_mesh(make: Any, mesh: Any, device_type: Any, *arguments: Any, **options: Any) -> None:
    make(mesh, _kind(device_type), *arguments, **options)


# A replica is on the one device of its rank.
def _make_ddp(make: Any, ddp: Any, module: Any, device_ids: Any = None, output_device: Any = None,
              *arguments: Any, **options: Any) -> None:  # fmt: skip
    if device_ids is not None and len(device_ids) == 1:
        devices.index_or_current(device_ids[0])
        device_ids = output_device = None
    make(ddp, module, device_ids, output_device, *arguments, **options)


_GeneratorOfTorch = torch.Generator


class _KindOfGenerator(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _GeneratorOfTorch)

    def __call__(cls, device: Any = "cpu") -> Any:
        is_cuda = _core.rank() is not None and devices.index_of(device) is not None
        return _GeneratorOfTorch("cpu" if is_cuda else device)


class _Generator(metaclass=_KindOfGenerator):
    """``torch.Generator``, whose objects are torch's."""


def _make_scaler(make: Any, scaler: Any, *arguments: Any, **options: Any) -> None:
    make(scaler, *arguments, **options)
    scaler._device = _kind(scaler._device)


def _load(load: Any, file: Any, map_location: Any = None, *arguments: Any, **options: Any) -> Any:
    if map_location is None:
        map_location = _as_saved
    elif isinstance(map_location, dict):
        named = map_location

        def map_location(storage: Any, location: str) -> Any:
            target = named.get(location, location)
            return _copy_storage(storage) if devices.index_of(target) is not None else storage

    elif devices.index_of(map_location) is not None:
        index = devices.index_of(map_location)
        assert index is not None
        devices.device(index)
        map_location = "cpu"
    return load(file, map_location, *arguments, **options)


def _as_saved(storage: Any, location: str) -> Any:
    return storage if location.startswith("cuda") else None


def _set_default_type(change: Any, kind: Any) -> None:
    if "torch.cuda." in str(kind):
        functions.refuse(f"torch.set_default_tensor_type({kind!r})")
    change(kind)


def _copy_storage(storage: Any, *arguments: Any, **options: Any) -> Any:
    return storage.clone()


def _record_stream(tensor: torch.Tensor, s: Any) -> None:
    order.record_stream(tensor, s._key())


def _change_nothing(*arguments: Any) -> None:
    """Pinned memory has the same bytes, and memory is free once nobody refers to it."""


def _run_backward(run: Any, *arguments: Any, **options: Any) -> Any:
    with CudaNames():
        return run(*arguments, **options)
