"""Steps of optimizers: their arithmetic reads and writes rounded elements, as state lasts.

Copies and collectives of a step still carry, since a gradient may be reduced inside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import scope

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
