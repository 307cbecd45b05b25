"""Steps of optimizers: their arithmetic reads and writes rounded elements, as state lasts.

Copies and collectives of a step still carry, since a gradient may be reduced inside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import drop, outside_of_steps, scope

tables.safe(
    "gradient scaling",
    "_amp_foreach_non_finite_check_and_unscale _amp_foreach_non_finite_check_and_unscale_ "
    "_amp_update_scale _amp_update_scale_",
)


@contextmanager
def noticed_steps() -> Iterator[None]:
    """Notices the steps of this rank's optimizers. Each rank has hooks of its own."""
    handles = [
        register_optimizer_step_pre_hook(_begin),
        register_optimizer_step_post_hook(_end),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _begin(optimizer: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if scope.mode is None:
        return None
    scope.steps += 1
    # A closure computes a forward and a backward pass, which are no part of the step.
    made = tuple(_outside(each) for each in args)
    return made, {name: _outside(each) for name, each in options.items()}


def _end(optimizer: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    scope.steps = max(0, scope.steps - 1)
    for state in optimizer.state.values():
        for each in state.values() if isinstance(state, dict) else ():
            _round(each)


def _round(value: Any) -> None:
    """Lets a state carry nothing to the next step, unless it is a part of a sum."""
    if isinstance(value, DTensor):
        if any(each.is_partial() for each in value.placements):
            return
        value = value._local_tensor
    if type(value) is torch.Tensor and value.device.type == "cpu":
        drop(value)


def _outside(closure: Any) -> Any:
    if not callable(closure):
        return closure

    def outside() -> Any:
        with outside_of_steps():
            return closure()

    return outside
