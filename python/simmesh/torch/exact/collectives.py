"""Operators of the namespaces of collectives and of FSDP, which arrive whole."""

from __future__ import annotations

from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.accesses import WAITS, started
from simmesh.torch.exact.companions import drop, has
from simmesh.torch.exact.dispatch import in_mode
from simmesh.torch.exact.movement import assign
from simmesh.torch.exact.tables import Entry, Operator


@tables.rule
def _collective(operator: Operator) -> Entry | None:
    """The core's collectives carry what stands behind their operands."""
    name = tables.name_of(operator)
    if name.startswith("c10d::"):
        return Entry("exact", "collectives", handler=_called)
    if name.startswith(("_c10d_functional::", "_c10d_functional_autograd::", "_dtensor::")):
        return Entry("exact", "collectives", handler=_functional)
    return None


def _called(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return started(func, args, options, lambda: func(*args, **options))


_COPYING = ("all_reduce", "all_reduce_coalesced", "broadcast")


def _functional(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Copies the operand through the mode where torch's kernel copies it inside."""
    packet = tables.packet_of(func).rpartition("::")[2]
    if packet in _COPYING:
        copied = in_mode(_copies, args[0])
        written = getattr(torch.ops._c10d_functional, packet + "_").default
        rest = (copied, *args[1:])
        return started(written, rest, options, lambda: written(*rest, **options))
    if packet in WAITS:
        return func(*args, **options)
    made = args if packet.endswith("_") else (in_mode(_contiguous, args[0]), *args[1:])
    return started(func, made, options, lambda: func(*made, **options))


def _copies(operand: Any) -> Any:
    if isinstance(operand, torch.Tensor):
        return operand.clone(memory_format=torch.contiguous_format)
    return [_copies(each) for each in operand]


def _contiguous(operand: Any) -> Any:
    if isinstance(operand, torch.Tensor):
        return operand.contiguous()
    return [_contiguous(each) for each in operand] if isinstance(operand, list) else operand


@tables.exact("FSDP", "fsdp::all_gather_copy_in")
def _copy_in(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    inputs, output, sizes, count, rank = args[:5]
    part = output.narrow(0, count * rank, count)
    in_mode(torch._foreach_copy_, torch.split(part, sizes), inputs)
    return part, output


@tables.exact("FSDP", "fsdp::split_with_sizes_copy")
def _split_copy(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    in_mode(torch.split_with_sizes_copy, *args, **options)


@tables.exact("FSDP", "fsdp::chunk_cat fsdp::chunk_cat_mixed_dtype")
def _chunk_cat(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Puts chunks of gradients one after the other, in the dtype in which they are reduced."""
    tensors, dim, chunks = args[0], args[1], args[2]
    out = options["out"] if "out" in options else args[3]
    if dim == 0 and out.is_contiguous() and all(each.is_contiguous() for each in tensors):
        func(*args, **options)
        _move_chunks(tensors, out.view(chunks, -1))
    else:
        in_mode(_cat_chunks, tensors, dim, chunks, out)


def _move_chunks(tensors: Any, rows: torch.Tensor) -> None:
    """Moves what stands behind rows of tensors, which are cut evenly, to the rows of a result."""
    drop(rows)
    begin = 0
    for each in tensors:
        length = -(-each.shape[0] // len(rows))
        size = length * each[:1].numel()
        if has(each) or each.dtype is not rows.dtype:
            for row, part in zip(rows, each.split(length) if length else ()):
                assign(row[begin : begin + part.numel()].view(part.shape), part)
        begin += size


def _cat_chunks(tensors: Any, dim: int, chunks: int, out: torch.Tensor) -> None:
    converted = [each if each.dtype is out.dtype else each.to(out.dtype) for each in tensors]
    torch._chunk_cat(converted, dim, chunks, out=out)


tables.safe("FSDP", "fsdp::record_grad_output_stream")
