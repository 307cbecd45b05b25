"""``torch.cond``, ``while_loop``, ``scan`` and ``map``, of which torch makes a graph before it
differentiates them.

Ranks compile nothing, so there these run as they are written: the operators of the branch that is
taken, or of each step, are recorded for the backward pass as all others are.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.map import map_dense, map_impl
from torch._higher_order_ops.scan import generic_scan, scan_op
from torch._higher_order_ops.while_loop import while_loop_dense, while_loop_op
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensorMode
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from simmesh.torch.isolation.patches import Patches

_TRACING = (FakeTensorMode, FunctionalTensorMode, ProxyTorchDispatchMode)


def install(patches: Patches) -> None:
    """Lets ranks run the operators of control flow as they are written, unless they trace them or
    transform them by ``torch.func``.
    """
    for operator in _WRITTEN:
        patches.around_in_ranks(type(operator), "__call__", _as_written)


def _as_written(original: Any, operator: Any, *arguments: Any, **options: Any) -> Any:
    is_transformed = torch._C._functorch.peek_interpreter_stack() is not None
    modes = _get_current_dispatch_mode_stack()
    if is_transformed or any(isinstance(mode, _TRACING) for mode in modes):
        call = functools.partial(original, operator)
        if operator is cond_op:
            return _with_flat_results(call, *arguments)
        return call(*arguments, **options)
    return _WRITTEN[operator](*arguments, **options)


def _chosen_branch(condition: Any, on_true: Any, on_false: Any, operands: Any) -> Any:
    return (on_true if condition else on_false)(*operands)


def _with_flat_results(call: Any, condition: Any, *branches_and_operands: Any) -> Any:
    """Calls ``torch.cond``'s operator, whose branches return tuples: its compiler sees to that."""
    *branches, operands = branches_and_operands
    specs: list[pytree.TreeSpec] = []

    def flat(branch: Any) -> Any:
        def run(*inputs: Any) -> tuple[Any, ...]:
            leaves, spec = pytree.tree_flatten(branch(*inputs))
            specs.append(spec)
            return tuple(leaves)

        return run

    results = call(condition, *map(flat, branches), operands)
    return pytree.tree_unflatten(results, specs[-1])


def _scan(combine: Any, init: Any, xs: Any, additional_inputs: Any, **options: Any) -> Any:
    return generic_scan(combine, init, xs, additional_inputs=additional_inputs)


_WRITTEN: dict[Any, Callable[..., Any]] = {
    cond_op: _chosen_branch,
    while_loop_op: while_loop_dense,
    scan_op: _scan,
    map_impl: map_dense,
}
