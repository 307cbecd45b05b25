"""Exact PyTorch in ranks: ``local="exact"`` computes every operator without rounding sums.

    simmesh.torch.exact.one_device(function)

runs a function in the mode on one rank, as the reference of any sharding.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Callable


def one_device(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Runs ``function(*arguments)`` on one rank with ``local="exact"`` and returns its result.

    The options are those of ``spmd_run``. Raises what the function raises.
    """
    from simmesh.spmd import spmd_run

    options = {"seats": "threads", **options}
    ran = spmd_run(function, *arguments, world_size=1, local="exact", **options)
    if not ran.outcome.ok:
        if ran.outcome.exception is not None:
            raise ran.outcome.exception
        raise RuntimeError(ran.outcome.report)
    return ran.results[0]


def declare(operator: Any, how: str | Callable[..., Any]) -> None:
    """Says how an operator that the table lacks is computed, such as one of a program's own.

    ``how`` is ``"safe"`` if the operator's kernel adds no elements up and gives an element bits
    that don't depend on its place; or it is a function that is called in the operator's place, and
    whose own operators are computed in turn.
    """
    from simmesh.torch.exact import mode, tables
    from simmesh.torch.exact.dispatch import in_mode

    if how == "safe":
        entry = tables.Entry("safe", "declared")
    elif callable(how):
        compute = how

        def composed(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
            return in_mode(compute, *args, **options)

        entry = tables.Entry("composed", "compositions", handler=composed)
    else:
        raise ValueError(f"[torch/exact] declare: expected 'safe' or a function, got {how!r}")
    tables.declare(operator, entry)
    mode.forget(operator)


def random_layout(
    mesh: Any, placements: Sequence[Any], shape: Sequence[int] | None = None
) -> AbstractContextManager[None]:
    """Declares the layout of plain tensors whose numbers are drawn inside of the block, so that a
    part of a tensor gets the numbers that one device draws for it:

        with simmesh.torch.exact.random_layout(mesh, [Shard(1)]):
            x = F.dropout(x, 0.1)

    Each rank draws the whole tensor's numbers and keeps its own, so all ranks along the mesh need
    equal states of the generator. A tensor that isn't cut evenly needs its whole ``shape``; it is
    cut as DTensor cuts it. Outside of ranks with ``local="exact"`` the block changes nothing.
    Raises ValueError for a layout that the drawn tensor can't have.
    """
    from simmesh.torch.exact.random import random_layout as declared

    return declared(mesh, placements, shape)


__all__ = ["declare", "one_device", "random_layout"]
