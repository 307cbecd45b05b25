"""The mode that types PyTorch's functions as they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.overrides import TorchFunctionMode

from simmesh import _core
from simmesh.typed import autograd_functions, raw, state
from simmesh.typed.annotations import retagged
from simmesh.typed.axes import MeshAxis, current_mesh
from simmesh.typed.operators import PASSING, PROPERTIES, Operation, operation, results_of
from simmesh.typed.refusal import refuse
from simmesh.typed.scalar import unwrapped
from simmesh.typed.stored import Cuts, Naming, Types, cuts_on, dual_types, keep, types_on
from simmesh.typed.suggestions import candidates, described


class Checker(TorchFunctionMode):
    """Types each call from its operands, once it has run, and refuses one that has no type."""

    def __init__(self, is_strict: bool, is_local: bool) -> None:
        super().__init__()
        self.is_strict, self.is_local, self.is_paused = is_strict, is_local, False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs a function and types its results."""
        __tracebackhide__ = True
        kwargs = kwargs or {}
        if self.is_paused or _passes(func) or _has_dtensor(args):
            return func(*args, **kwargs)
        if func is torch.Tensor.backward:
            check_loss(args, kwargs)
            return func(*args, **kwargs)
        typed_call = getattr(func, "simmesh_typed_call", None)
        if typed_call is not None:
            return typed_call(func, args, kwargs)
        if raw.is_raw(func):
            return raw.run(func, args, kwargs)
        if func is torch.autograd.grad:
            return _grad(func, args, kwargs)
        if isinstance(func, autograd_functions.Apply) and not func.is_local():
            return func.typed(args, kwargs)
        return _run_local(func, args, kwargs)


def _passes(func: Any) -> bool:
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return getattr(func.__self__, "__name__", "") not in PROPERTIES
    return name in ("__set__", "__delete__") or name in PASSING


def _has_dtensor(args: Sequence[Any]) -> bool:
    return any(isinstance(each, DTensor) for each in args)


def check_loss(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises SpmdTypeError for a loss whose gradient of 1 isn't right on every rank."""
    __tracebackhide__ = True
    loss = args[0]
    gradient = kwargs.get("gradient", args[1] if len(args) > 1 else None)
    naming = Naming([types_on(loss) or {}])
    try:
        _core.typed.check_loss(
            naming.tensor(loss), gradient is not None, naming.context(state.is_strict())
        )
    except _core.typed.TypeRefusal as refusal:
        axis = refusal.args[1]
        help_of = []
        if axis:
            kind = (types_on(loss) or {}).get(naming.axis(axis))
            help_of = [f'reinterpret(loss, "{axis}", src=V, dst=P)'] if kind == "V" else [
                f'all_reduce(..., "{axis}", dst=I) before the loss'
            ]  # fmt: skip
        raise refuse(refusal, "backward", described(naming, [loss]), help_of) from None


def _grad(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """torch.autograd.grad: gradients have the dual types of the inputs."""
    outputs = args[0] if args else kwargs["outputs"]
    inputs = args[1] if len(args) > 1 else kwargs["inputs"]
    given = args[2] if len(args) > 2 else kwargs.get("grad_outputs")
    if given is None:
        for loss in [outputs] if isinstance(outputs, torch.Tensor) else outputs:
            check_loss((loss,), {})
    result = func(*args, **kwargs)
    sources = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
    for source, gradient in zip(sources, result):
        if gradient is not None and types_on(source) is not None:
            keep(gradient, dual_types(types_on(source) or {}), cuts_on(source))
    return result


def _run_local(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    __tracebackhide__ = True
    call = operation(func, args, kwargs)
    needs = [each.needs_gradient for each in call.operands]
    result = func(*unwrapped(args), **unwrapped(kwargs))
    results = results_of(result)
    types, cuts = infer(call, needs, results)
    written = results_of(kwargs.get("out"))
    if call.op.endswith("_") and call.operands:
        written.append(call.operands[0].value)
    for each in (*results, *written):
        is_operand = any(each is operand.value for operand in call.operands)
        own = cuts_on(each) if is_operand and not cuts else cuts
        keep(each, dict(types), own if each.dim() == len(own) else ())
    return result


def infer(call: Operation, needs: Sequence[bool], results: Sequence[Any]) -> tuple[Types, Cuts]:
    """The types and cuts of a call's results. Raises SpmdTypeError where they have none."""
    __tracebackhide__ = True
    operands = [each.value for each in call.operands]
    _retag(operands)
    own = [types_on(each) or {} for each in operands]
    naming = Naming(own)
    axes = sorted({axis for types in own for axis in types}, key=naming.name)
    mesh = current_mesh()
    every = frozenset(axes) | frozenset(mesh.tracked() if mesh is not None else ())
    followed = state.global_axes(list(every))
    dims = results[0].dim() if results else 0
    is_strict = state.is_strict()

    def run(
        only: frozenset[MeshAxis] | None, is_global: bool, op: str = call.op
    ) -> _core.typed.Tensor:
        given = [
            (naming.tensor(each, only, need), operand.is_number)
            for each, need, operand in zip(operands, needs, call.operands)
        ]
        context = naming.context(is_strict, is_global, only)
        return _core.typed.infer(op, given, context, call.dims, call.keeps_dim, dims)

    try:
        found = run(followed, followed is not None)
        types, cuts = naming.types(found), naming.cuts(found)
        if followed is not None and followed < every:
            types |= naming.types(run(every - followed, False))
        if call.exact_op is not None and "P" in types.values():
            run(None, False, call.exact_op)
        return types, cuts if followed is not None else ()
    except _core.typed.TypeRefusal as refusal:
        axis = refusal.args[1]
        possible = candidates(call, needs, naming, axis, run) if axis else []
        raise refuse(refusal, call.op, described(naming, operands), possible) from None


def _retag(operands: Sequence[Any]) -> None:
    """Gives operands that were typed on another presentation of the ranks the current axes."""
    mesh = current_mesh()
    if mesh is None:
        return
    tracked = mesh.tracked()
    for each in operands:
        types = types_on(each)
        if types and any(axis not in tracked for axis in types):
            keep(each, retagged(types, tracked), cuts_on(each))
