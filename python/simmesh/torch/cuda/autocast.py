"""Autocast for CUDA in ranks: tensors of the CPU are cast as those of a GPU are.

Autocast for CPUs casts in other functions: CUDA's computes softmax, norms, sums and losses in
float32. So CUDA's lists, which the headers of the installed torch have, take the place of the
CPU's while a run lasts.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import torch
import torch.amp.autocast_mode
from torch.utils._pytree import tree_map_only

from simmesh.torch.isolation.patches import Patches

_KEY = "AutocastCPU"
_POLICIES = ("LOWER_PRECISION_FP", "FP32", "FP32_SET_OPT_DTYPE", "PROMOTE")
# The operators that CUDA's autocast calls with a dtype in place of these.
_NORMS = {
    "norm.Scalar": "norm.ScalarOpt_dtype",
    "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype",
}
_BANNED = "binary_cross_entropy"

_without_autocast = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)


def install(patches: Patches) -> None:
    """Lets autocast for CUDA cast the rank's tensors."""
    autocast = torch.amp.autocast_mode.autocast
    patches.around_in_ranks(autocast, "__enter__", _enter)
    patches.around_in_ranks(autocast, "__exit__", _leave)
    patches.around_in_ranks(torch.amp.autocast_mode, "_cast", _cast_inputs)
    library = _library()
    patches.at_end(library._destroy)


def _enter(enter: Any, autocast: Any) -> Any:
    result = enter(autocast)
    if autocast.device == "cuda":
        inner = torch.amp.autocast_mode.autocast(
            "cpu", autocast.fast_dtype, autocast._enabled, autocast._cache_enabled
        )
        autocast._simmesh_inner = inner
        inner.__enter__()
    return result


def _leave(leave: Any, autocast: Any, *error: Any) -> Any:
    if autocast.device == "cuda":
        autocast._simmesh_inner.__exit__(*error)
    return leave(autocast, *error)


def _cast_inputs(cast: Any, value: Any, device_type: str, dtype: torch.dtype) -> Any:
    return cast(value, "cpu" if device_type == "cuda" else device_type, dtype)


def _library() -> Any:
    """The kernels of CUDA's lists, and none for functions that only the CPU's lists have."""
    library = torch.library.Library("aten", "IMPL")
    kernels = dict(_kernels())
    kernels[_BANNED] = _refuse_banned
    lower = _lists()["LOWER_PRECISION_FP"]
    for name, kernel in kernels.items():
        is_there = torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", _KEY)
        if not (is_there and name in lower):
            library.impl(name, kernel, _KEY, allow_override=True)
    for name in _of_cpu():
        if name not in kernels:
            library.impl(name, torch.library.fallthrough_kernel, _KEY, allow_override=True)
    return library


@functools.cache
def _of_cpu() -> tuple[str, ...]:
    names = (each.partition("::")[2] for each in torch._C._dispatch_get_all_op_names()
             if each.startswith("aten::"))  # fmt: skip
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return tuple(name for name in names if has(f"aten::{name}", _KEY))


@functools.cache
def _lists() -> dict[str, tuple[str, ...]]:
    """The operators of each policy."""
    header = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
    text = header.read_text(encoding="utf-8").replace("\\\n", " ")
    found = {}
    for policy in _POLICIES:
        line = re.search(rf"#define AT_FORALL_{policy}\(_\)(.*)", text)
        if line is None:
            raise RuntimeError(f"[torch/cuda] expected the list {policy} of autocast in {header}")
        pairs = re.findall(r"_\((\w+)(?:,\s*(\w+))?\)", line[1])
        found[policy] = tuple(f"{name}.{overload}" if overload else name
                              for name, overload in pairs)  # fmt: skip
    return found


def _kernels() -> Iterator[tuple[str, Callable[..., Any]]]:
    makers = {"LOWER_PRECISION_FP": _lower, "FP32": _float, "FP32_SET_OPT_DTYPE": _to_float,
              "PROMOTE": _widest}  # fmt: skip
    for policy, names in _lists().items():
        for name in names:
            if (operator := _operator(name)) is not None:
                yield name, _kernel(makers[policy], operator)
    for name, other in _NORMS.items():
        if (operator := _operator(name)) is not None:
            yield name, _kernel(functools.partial(_norm, _operator(other)), operator)


def _operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    found = getattr(torch.ops.aten, packet, None)
    return None if found is None else getattr(found, overload or "default", None)


@functools.cache
def _has_dtype(operator: Any) -> bool:
    return any(each.name == "dtype" for each in operator._schema.arguments)


def _kernel(policy: Callable[..., Any], operator: Any) -> Callable[..., Any]:
    def kernel(*arguments: Any, **options: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(_without_autocast):
            return policy(operator, arguments, options)

    return kernel


def _is_eligible(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor) and value.is_floating_point()
        and value.dtype is not torch.float64
    )  # fmt: skip


def _cast(dtype: torch.dtype, *values: Any) -> Any:
    return tree_map_only(
        torch.Tensor, lambda each: each.to(dtype) if _is_eligible(each) else each, values
    )


def _lower(operator: Any, arguments: Any, options: Any) -> Any:
    arguments, options = _cast(torch.get_autocast_dtype("cpu"), arguments, options)
    return operator(*arguments, **options)


def _float(operator: Any, arguments: Any, options: Any) -> Any:
    arguments, options = _cast(torch.float32, arguments, options)
    return operator(*arguments, **options)


def _to_float(operator: Any, arguments: Any, options: Any) -> Any:
    named = [each.name for each in operator._schema.arguments]
    given = {**dict(zip(named, arguments)), **options}
    if given.get("dtype") is None and _is_eligible(arguments[0]):
        given["dtype"] = torch.float32
        own = {each.name for each in operator._schema.arguments if each.kwarg_only}
        order = [name for name in named if name not in own and name in given]
        arguments = tuple(given[name] for name in order)
        options = {name: value for name, value in given.items() if name in own}
    return operator(*arguments, **options)


def _norm(with_dtype: Any, operator: Any, arguments: Any, options: Any) -> Any:
    if not _is_eligible(arguments[0]):
        return operator(*arguments, **options)
    named = [each.name for each in operator._schema.arguments]
    defaults = {each.name: each.default_value for each in operator._schema.arguments
                if each.has_default_value()}  # fmt: skip
    given = {**defaults, **dict(zip(named, arguments)), **options}
    return with_dtype(*(given[name] for name in named), dtype=torch.float32)


def _widest(operator: Any, arguments: Any, options: Any) -> Any:
    found = [each.dtype for each in torch.utils._pytree.tree_leaves((arguments, options))
             if _is_eligible(each)]  # fmt: skip
    dtype = torch.get_autocast_dtype("cpu")
    for each in found:
        dtype = torch.float32 if each is torch.float32 else dtype
    arguments, options = _cast(dtype, arguments, options)
    return operator(*arguments, **options)


def _refuse_banned(*arguments: Any, **options: Any) -> Any:
    raise RuntimeError(
        "[torch/cuda] torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to "
        "autocast for CUDA; expected binary_cross_entropy_with_logits"
    )
