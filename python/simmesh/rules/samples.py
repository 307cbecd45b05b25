"""Inputs of PyTorch's operators: calls of an operator that PyTorch's own samples make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh.rules.calls import RuleArgument
from simmesh.rules.sizes import RuleInput

# Calls of an operator that are judged, each with other shapes or arguments.
_CALLS_MAX = 3
_SAMPLES_MAX = 40


@dataclass(frozen=True)
class SampleCall:
    """A call of an operator: its inputs as ``rulecheck`` takes them, and arguments by name."""

    inputs: list[Any]
    keywords: dict[str, Any]


class _Calls(TorchDispatchMode):
    """Collects the calls of an operator."""

    def __init__(self, operator: Any) -> None:
        super().__init__()
        self._operator = operator
        self.found: dict[str, SampleCall] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is self._operator and _is_judged(args, kwargs):
            named = _sizes_named([*args, *kwargs.values()])
            call = SampleCall([_input(each, named) for each in args], dict(kwargs))
            self.found.setdefault(_key(args, kwargs), call)
        return func(*args, **kwargs)


def sample_calls(operator: Any) -> list[SampleCall]:
    """The calls that the samples of PyTorch make of an operator, the largest number of dims first.

    Raises ValueError where there are none.
    """
    calls = _Calls(operator)
    for info in _infos(operator):
        if torch.float32 not in info.dtypes:
            continue
        for sample in _first(info.sample_inputs("cpu", torch.float32)):
            try:
                with calls, torch.no_grad():
                    info.op(sample.input, *sample.args, **sample.kwargs)
            except Exception:  # a sample that this build can't run
                continue
    if not calls.found:
        raise ValueError(
            f"[rules] expected inputs for {operator}, as in inputs=['mk', 'kn'], got none, and "
            "PyTorch has no samples that call it"
        )
    found = sorted(calls.found.values(), key=lambda call: -_dims(call))
    return found[:_CALLS_MAX]


def _infos(operator: Any) -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    name = operator._schema.name.split("::")[1]
    named = [info for info in op_db if name in (info.name, info.aten_name)]
    # Operators that functions call under other names, such as those of torch.nn.functional.
    bare = name.strip("_").removeprefix("native_")
    near = [
        info
        for info in op_db
        if info not in named and info.name.split(".")[-1].strip("_") in (bare, _OTHERS.get(name))
    ]
    return named + near


_OTHERS = {
    "mm": "matmul", "bmm": "matmul", "addmm": "linear", "convolution": "conv2d",
    "_log_softmax": "log_softmax", "_softmax": "softmax", "t": "linear",
}  # fmt: skip


def _first(samples: Any) -> Iterator[Any]:
    for at, sample in enumerate(samples):
        if at >= _SAMPLES_MAX:
            return
        yield sample


def _is_judged(args: Any, kwargs: Any) -> bool:
    """True for a call whose tensors stand apart, each with an element."""
    tensors = [each for each in args if isinstance(each, torch.Tensor)]
    in_lists = any(
        isinstance(each, torch.Tensor)
        for entry in args
        if isinstance(entry, (list, tuple))
        for each in entry
    )
    by_name = any(isinstance(each, torch.Tensor) for each in kwargs.values())
    return bool(tensors) and not in_lists and not by_name and all(t.numel() for t in tensors)


def _sizes_named(arguments: list[Any]) -> set[int]:
    """The sizes that lists among the arguments may name, which then stay as they are."""
    lists = [each for each in arguments if isinstance(each, (list, tuple))]
    return {size for each in lists for size in each if isinstance(size, int)}


def _input(entry: Any, named: set[int]) -> Any:
    """An input whose sizes vary, but for those that are named and for 1, which broadcasts."""
    if not isinstance(entry, torch.Tensor):
        return RuleArgument(entry)
    values = None if entry.is_floating_point() else entry.detach().clone()
    sizes = list(map(int, entry.shape))
    dims = [size if size == 1 or size in named else f"size {size}" for size in sizes]
    return RuleInput(dims, values, is_fixed=True)


def _key(args: Any, kwargs: Any) -> str:
    words = [
        f"{list(each.shape)}" if isinstance(each, torch.Tensor) else repr(each) for each in args
    ]
    return f"{words} {sorted(kwargs.items(), key=lambda item: item[0])}"


def _dims(call: SampleCall) -> int:
    return sum(len(each.dims) for each in call.inputs if isinstance(each, RuleInput))
