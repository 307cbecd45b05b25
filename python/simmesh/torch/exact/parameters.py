"""Parameters: their elements are rounded whenever they are written, so nothing stands behind them.

A parameter is known from the call that makes it, also where its storage is a part of a buffer or
its elements are a rank's shard.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed.tensor import DTensor

from simmesh.torch.exact.companions import round_parameter, scope
from simmesh.torch.exact.shared_changes import WhileAnyThread

_original = vars(torch.nn.Parameter)["__new__"]


def _made(cls: Any, *arguments: Any, **options: Any) -> Any:
    parameter = _original.__func__(cls, *arguments, **options)
    if scope.mode is not None:
        local = parameter._local_tensor if isinstance(parameter, DTensor) else parameter
        if type(local) in (torch.Tensor, torch.nn.Parameter) and local.device.type == "cpu":
            round_parameter(local)
    return parameter


def _notice(is_first: bool) -> None:
    torch.nn.Parameter.__new__ = staticmethod(_made)


def _put_back() -> None:
    torch.nn.Parameter.__new__ = _original


#: Notices new parameters while any thread is in the mode; other threads' are left alone.
noticed_parameters = WhileAnyThread(_notice, _put_back)
