"""Sample calls of PyTorch's operators: those that its OpInfo samples make, and some of our own.

A sample runs forward and backward while a mode notes each aten call. Operators in place and with
``out=`` get the calls of their plain form.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh.rules.pytorch.propagation import Call

Op = Any  # torch._ops.OpOverload
Calls = dict[Op, list[Call]]

# The sizes that PyTorch's sample functions use (S, M, L, XS): theirs, which 2 and 3 ranks don't
# divide, and even ones, of which the last of 3 ranks gets none.
_SIZES = ((5, 10, 20, 3), (4, 4, 8, 2))
# Calls of an operator that are kept for each sizes: fewer where all elements are alike.
_CALLS = 4
_CALLS_POINTWISE = 1
_ELEMENTS_MAX = 20_000
_SAMPLES_MAX = 40
_DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool)
# Floating values are multiples of this, so that sums of a few products are exact.
_UNIT = 2.0**-10
# Integers leave room for the terms of partial sums.
_INTEGER_MAX = 2**29


def prepared(call: Call) -> Call:
    """The call with copies of its tensors, whose floating values have few bits."""

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        copied = leaf.detach().clone()
        if copied.dtype in (torch.float64, torch.float32):
            rounded = (copied / _UNIT).round() * _UNIT
            copied.copy_(torch.where(copied.abs() < 2**20, rounded, copied))
        elif copied.dtype in (torch.int64, torch.int32):
            copied.clamp_(-_INTEGER_MAX, _INTEGER_MAX)
        return copied

    args, kwargs = pytree.tree_map(copy, (call.args, call.kwargs))
    return Call(call.op, args, kwargs)


def signature(call: Call) -> tuple[Any, ...]:
    """Calls with the same one differ in sizes and values alone."""

    def shape(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return (tuple(min(size, 2) for size in leaf.shape), str(leaf.dtype))
        if isinstance(leaf, float):
            return "float"
        return str(leaf)

    leaves, spec = pytree.tree_flatten((call.args, call.kwargs))
    return (*map(shape, leaves), str(spec))


class _Collector(TorchDispatchMode):
    """Notes the calls of a sample, a few for each operator."""

    def __init__(self, wanted: Callable[[Op], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self.calls: Calls = {}
        self._seen: dict[Op, set[tuple[Any, ...]]] = {}

    def __torch_dispatch__(
        self, func: Op, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        call = Call(func, args, kwargs or {})
        if self._wanted(func):
            self.note(call)
        return func(*args, **(kwargs or {}))

    def note(self, call: Call) -> None:
        """Keeps a call that is of a new kind, until there are enough of its operator."""
        kept = self.calls.setdefault(call.op, [])
        tensors = call.tensors
        limit = _CALLS_POINTWISE if torch.Tag.pointwise in call.op.tags else _CALLS
        if len(kept) >= limit or not tensors:
            return
        if any(type(each) is not Tensor or each.layout != torch.strided for each in tensors):
            return
        if sum(tensor.numel() for tensor in tensors) > _ELEMENTS_MAX:
            return
        key = signature(call)
        seen = self._seen.setdefault(call.op, set())
        if key not in seen:
            seen.add(key)
            kept.append(prepared(call))


@contextlib.contextmanager
def _sizes(values: tuple[int, ...]) -> Iterator[None]:
    """Sets the sizes of PyTorch's sample functions."""
    names = ("S", "M", "L", "XS")
    modules = [
        module for name, module in sys.modules.items()
        if name.startswith("torch.testing._internal.")
        and isinstance(getattr(module, "S", None), int)
    ]  # fmt: skip
    kept = [
        (module, {n: getattr(module, n) for n in names if hasattr(module, n)}) for module in modules
    ]
    try:
        for module, had in kept:
            for name, value in zip(names, values):
                if name in had:
                    setattr(module, name, value)
        yield
    finally:
        for module, had in kept:
            for name, value in had.items():
                setattr(module, name, value)


def _run(info: Any, sample: Any, requires_grad: bool) -> None:
    result = info.op(sample.input, *sample.args, **sample.kwargs)
    if not requires_grad:
        return
    outputs = [
        leaf for leaf in pytree.tree_leaves(result)
        if isinstance(leaf, Tensor) and leaf.requires_grad
    ]  # fmt: skip
    if outputs:
        grads = [
            torch.randn(output.shape, dtype=torch.float64).to(output.dtype) for output in outputs
        ]
        torch.autograd.backward(outputs, grads)


def _samples(info: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Any]:
    samples = info.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    return itertools.islice(samples, _SAMPLES_MAX)


def _collect_of(info: Any, collector: _Collector, is_forward: bool) -> None:
    floats = [dtype for dtype in _DTYPES[:2] if dtype in info.dtypes][:1]
    others = [dtype for dtype in _DTYPES[2:] if dtype in info.dtypes][: 2 - len(floats)]
    for dtype in (*floats, *others):
        grad = dtype.is_floating_point and bool(info.supports_autograd) and not is_forward
        torch.manual_seed(0)
        random.seed(0)
        # Samples of unusual sizes may be refused, by the sample function or by the operator.
        with contextlib.suppress(Exception):
            for sample in _samples(info, dtype, grad):
                with contextlib.suppress(Exception), collector:
                    _run(info, sample, grad)


def opinfos() -> dict[str, list[Any]]:
    """All OpInfos of PyTorch that have samples, by name; variants of one name together."""
    import torch.testing._internal.common_methods_invocations as invocations

    found: dict[str, list[Any]] = {}
    for info in invocations.op_db:
        found.setdefault(info.name, []).append(info)
    return found


def own_calls(name: str) -> list[Call]:
    """Calls beside those of an OpInfo: sizes that its samples lack."""
    aten = torch.ops.aten
    generator = torch.Generator().manual_seed(0)
    shapes: dict[str, list[tuple[Op, tuple[int, ...], list[int]]]] = {
        "view": [
            (aten.view.default, (6, 4), [24]),
            (aten.view.default, (12, 2), [3, 4, 2]),
            (aten.view.default, (2, 6, 3), [2, 18]),
        ],
        "reshape": [(aten._unsafe_view.default, (6, 4), [24])],
    }
    return [
        prepared(Call(op, (torch.randn(shape, generator=generator).double(), sizes), {}))
        for op, shape, sizes in shapes.get(name, [])
    ]


def with_negative_dim(call: Call) -> Call | None:
    """The call with its dim counted from the end; None where it names none."""
    tensors = call.tensors
    for at, argument in enumerate(call.op._schema.arguments[: len(call.args)]):
        dim = call.args[at]
        if argument.name != "dim" or isinstance(call.args[0], (list, tuple)):
            continue
        rank = tensors[0].dim()
        if isinstance(dim, int) and not isinstance(dim, bool) and 0 <= dim < rank:
            changed: Any = dim - rank
        elif isinstance(dim, (list, tuple)) and dim and all(0 <= each < rank for each in dim):
            changed = [each - rank for each in dim]
        else:
            return None
        return Call(call.op, (*call.args[:at], changed, *call.args[at + 1 :]), call.kwargs)
    return None


def calls_of(infos: Iterable[Any], wanted: Callable[[Op], bool], is_forward: bool = False) -> Calls:
    """The calls that the samples of some OpInfos make of wanted operators. ``is_forward`` leaves
    out backward passes and other sizes than PyTorch's, which end the process for some OpInfos.
    """
    calls: Calls = {}
    for sizes in _SIZES[:1] if is_forward else _SIZES:
        collector = _Collector(wanted)
        with _sizes(sizes):
            for info in infos:
                _collect_of(info, collector, is_forward)
        for op, found in collector.calls.items():
            calls.setdefault(op, []).extend(found)
    for found in calls.values():
        known = set(map(signature, found))
        others = filter(None, map(with_negative_dim, found))
        new = [each for each in others if signature(each) not in known]
        found.extend(new[:_CALLS_POINTWISE])
    return {op: found for op, found in calls.items() if found}


def _overload(name: str, overload: str) -> Op | None:
    packet = getattr(torch.ops.aten, name, None)
    return getattr(packet, overload, None) if packet is not None else None


def _in_place(op: Op, calls: Calls) -> list[Call]:
    """Calls of an operator in place, from those of its plain form."""
    plain = _overload(op._schema.name.split("::")[1].removesuffix("_"), op._overloadname)
    if plain is None:
        return []
    found = []
    for call in calls.get(plain, []):
        first = call.args[0] if call.args else None
        with contextlib.suppress(Exception):
            result = plain(*call.args, **call.kwargs)
            if isinstance(first, Tensor) and result.shape == first.shape:
                found.append(Call(op, call.args, call.kwargs))
    return found


def _with_out(op: Op, calls: Calls) -> list[Call]:
    """Calls of an operator with out=, from those of its plain form."""
    outs = [argument.name for argument in op._schema.arguments if argument.is_out]
    name = op._schema.name.split("::")[1]
    overload = op._overloadname.removesuffix("out").removesuffix("_") or "default"
    plain = _overload(name, overload)
    if plain is None:
        return []
    found = []
    for call in calls.get(plain, []):
        with contextlib.suppress(Exception):
            result = plain(*call.args, **call.kwargs)
            results = list(result) if isinstance(result, (tuple, list)) else [result]
            made = {out: torch.zeros_like(each) for out, each in zip(outs, results)}
            if len(results) == len(outs):
                found.append(Call(op, call.args, {**call.kwargs, **made}))
    return found


def derived_calls(ops: Iterable[Op], calls: Calls) -> Calls:
    """Calls of operators in place and with out=, from the calls of their plain form."""
    found: Calls = {}
    for op in ops:
        if calls.get(op):
            continue
        name = op._schema.name.split("::")[1]
        if any(argument.is_out for argument in op._schema.arguments):
            made = _with_out(op, calls)
        elif name.endswith("_"):
            made = _in_place(op, calls)
        else:
            continue
        if made:
            found[op] = [prepared(call) for call in made[:_CALLS_POINTWISE]]
    return found
