"""Steps of optimizers: their arithmetic reads and writes rounded elements, as state lasts.

Copies and collectives of a step still carry, since a gradient may be reduced inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import round_parameter, scope

tables.safe(
    "optimizers",
    "_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_ _fused_adam _fused_adamw _fused_sgd "
    "_fused_adagrad",
)
tables.safe(
    "gradient scaling",
    "_amp_foreach_non_finite_check_and_unscale _amp_foreach_non_finite_check_and_unscale_ "
    "_amp_update_scale _amp_update_scale_",
)

_modes = 0
_hooks: list[Any] = []


@contextmanager
def noticed_steps() -> Iterator[None]:
    """Notices the steps of optimizers while any thread is in the mode."""
    global _modes
    if _modes == 0:
        _hooks.append(register_optimizer_step_pre_hook(_begin))
        _hooks.append(register_optimizer_step_post_hook(_end))
        _hooks.append(torch.nn.modules.module.register_module_parameter_registration_hook(_made))
    _modes += 1
    try:
        yield
    finally:
        _modes -= 1
        if _modes == 0:
            while _hooks:
                _hooks.pop().remove()


def _begin(optimizer: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if scope.mode is None:
        return None
    scope.steps += 1
    # A closure computes a forward and a backward pass, which are no part of the step.
    made = tuple(_outside(each) for each in args)
    return made, {name: _outside(each) for name, each in options.items()}


def _end(optimizer: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    scope.steps = max(0, scope.steps - 1)


def _outside(closure: Any) -> Any:
    if not callable(closure):
        return closure

    def outside() -> Any:
        steps, scope.steps = scope.steps, 0
        try:
            return closure()
        finally:
            scope.steps = steps

    return outside


def _made(module: Any, name: str, parameter: Any) -> None:
    if scope.mode is not None and isinstance(parameter, torch.Tensor):
        round_local(parameter)


def round_local(parameter: Any) -> None:
    """Lets a parameter, or this rank's part of it, carry nothing."""
    from torch.distributed.tensor import DTensor

    local = parameter._local_tensor if isinstance(parameter, DTensor) else parameter
    if type(local) in (torch.Tensor, torch.nn.Parameter) and local.device.type == "cpu":
        round_parameter(local)


Closure = Callable[[], Any]
