"""Parameters: their elements are rounded whenever they are written, so nothing stands behind them.

A parameter is known from the call that makes it, also where its storage is a part of a buffer or
its elements are a rank's shard.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from simmesh.torch.exact.companions import round_parameter, scope

_lock = threading.Lock()
_modes = 0
_original = vars(torch.nn.Parameter)["__new__"]


@contextmanager
def noticed_parameters() -> Iterator[None]:
    """Notices new parameters while any thread is in the mode; other threads' are left alone."""
    global _modes
    with _lock:
        _modes += 1
        torch.nn.Parameter.__new__ = staticmethod(_made)
    try:
        yield
    finally:
        with _lock:
            _modes -= 1
            if _modes == 0:
                torch.nn.Parameter.__new__ = _original


def _made(cls: Any, *arguments: Any, **options: Any) -> Any:
    parameter = _original.__func__(cls, *arguments, **options)
    if scope.mode is not None:
        local = parameter._local_tensor if isinstance(parameter, DTensor) else parameter
        if type(local) in (torch.Tensor, torch.nn.Parameter) and local.device.type == "cpu":
            round_parameter(local)
    return parameter
