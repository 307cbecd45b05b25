"""``FullyShardedDataParallel`` under CUDA's names: it asks devices and tensors for their types."""

from __future__ import annotations

from typing import Any

import torch.cuda
from torch.distributed.fsdp import (
    _common_utils,
    _flat_param,
    _init_utils,
    _runtime_utils,
    fully_sharded_data_parallel,
)

from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets it use the streams and events of ``torch.cuda``, as on a GPU."""
    for module in (_init_utils, fully_sharded_data_parallel):
        patches.in_ranks(module, "_init_device_handle", _init_device_handle)
    patches.in_ranks(_common_utils._FSDPDeviceHandle, "from_device", lambda device: torch.cuda)
    for module in (_common_utils, _flat_param, _runtime_utils):
        patches.in_ranks(module, "_no_dispatch_record_stream", _record_stream)


def _init_device_handle(state: Any, *arguments: Any) -> Any:
    state._device_handle = torch.cuda
    return state


def _record_stream(tensor: torch.Tensor, stream: Any) -> None:
    tensor.record_stream(stream)
