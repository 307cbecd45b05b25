"""Views of distributed tensors that are copies: a write to one would be lost without a word.

PyTorch gathers a tensor before it takes a view along a dim that is cut. The view has elements of
its own then, and the tensor doesn't see what is written to the view, as it does on one device.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from torch.multiprocessing.reductions import StorageWeakRef

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

_dispatcher: Any = DTensor._op_dispatcher


@dataclass
class CopiedView:
    """A view that is a copy: its storage, and how and where it was made."""

    storage: StorageWeakRef
    made_by: str
    line: str


def install(patches: Patches) -> None:
    """Watches the views of ranks that are made of gathered tensors."""
    name = "_dispatch_get_local_results_slow_path"
    patches.around_in_ranks(type(_dispatcher), name, _results)


def _results(compute: Any, dispatcher: Any, op: Any, args: Any, op_info: Any) -> Any:
    results = compute(dispatcher, op, args, op_info)
    sharding = op_info.output_sharding
    if sharding.needs_redistribute and op._schema._is_view_op():
        base = args[0]
        tensors = results if isinstance(results, (list, tuple)) else [results]
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and isinstance(base, DTensor):
                _note(op, base, tensor)
    return results


def _note(op: Any, base: DTensor, view: torch.Tensor) -> None:
    copy = StorageWeakRef(view.untyped_storage())
    if copy.cdata == base._local_tensor.untyped_storage()._cdata:
        return
    views = rank_state.of_rank().copied_views
    made_by = f"{op} of a tensor with placements {base.placements}"
    views[copy.cdata] = CopiedView(copy, made_by, _core.call_site())
    _watch_writes()


def _watch_writes() -> None:
    handlers: dict[Any, Any] = _dispatcher._custom_op_handlers
    for op in _writing_ops():
        handlers.setdefault(op, _write)


def _forget_writes() -> None:
    handlers: dict[Any, Any] = _dispatcher._custom_op_handlers
    for op in _writing_ops():
        if handlers.get(op) is _write:
            del handlers[op]


@functools.cache
def _writing_ops() -> tuple[Any, ...]:
    """The operators that change an operand in place."""
    found = []
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        writes = any(_is_written(each) and not each.kwarg_only for each in schema.arguments)
        if namespace == "aten" and writes:
            packet = getattr(torch.ops.aten, name, None)
            overload = getattr(packet, schema.overload_name or "default", None)
            if isinstance(overload, torch._ops.OpOverload):
                found.append(overload)
    return tuple(found)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _write(op: Any, args: Any, kwargs: Any) -> Any:
    """Raises for a write that would be lost, and else lets PyTorch do the operator."""
    views = rank_state.of_rank().copied_views
    for key in [key for key, view in views.items() if view.storage.expired()]:
        del views[key]
    for argument, value in zip(op._schema.arguments, args):
        if _is_written(argument):
            for tensor in value if isinstance(value, (list, tuple)) else [value]:
                _expect_shared(op, tensor, views)
    if not views:
        _forget_writes()
        return op(*args, **kwargs)
    handlers = _dispatcher._custom_op_handlers
    del handlers[op]
    try:
        return op(*args, **kwargs)
    finally:
        _dispatcher._custom_op_handlers.setdefault(op, _write)


def _expect_shared(op: Any, tensor: Any, views: dict[int, CopiedView]) -> None:
    if not isinstance(tensor, DTensor):
        return
    view = views.get(tensor._local_tensor.untyped_storage()._cdata)
    if view is not None:
        raise RuntimeError(
            f"[torch/copied_views] {op}: expected a view that shares the elements of its tensor, "
            f"got a copy, made at {view.line} by {view.made_by}: PyTorch gathers a tensor before "
            "it takes a view along a dim that is cut, and the write would be lost"
        )
