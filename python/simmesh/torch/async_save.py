"""Checkpoints that are saved in the background: threads save in a rank, processes can't."""

from __future__ import annotations

from typing import Any, NoReturn

from torch.distributed.checkpoint import _async_process_executor

from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Refuses ``async_save`` by a process, which would join a group of processes."""
    executor = _async_process_executor._ProcessBasedAsyncCheckpointExecutor
    patches.in_ranks(executor, "__init__", _refuse)


def _refuse(executor: Any) -> NoReturn:
    raise RuntimeError(
        "[torch/async_save] expected AsyncCheckpointerType.THREAD, whose threads are the rank's, "
        "got AsyncCheckpointerType.PROCESS: a process that a rank starts can't communicate"
    )
