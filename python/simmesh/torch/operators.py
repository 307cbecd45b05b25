"""The operators of torch's collectives, and how simmesh stands in for them on the CPU.

Every Python and C++ call of a collective ends in an operator of torch's namespace ``c10d``. A
kernel of ours takes its place for CPU tensors; outside of a rank, or with a group that no rank of
ours made, it calls the original kernel. The schemas are compared with the expected ones first, so
that a torch with a changed operator is refused by name and doesn't compute something else.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable

import torch

_GROUP = "__torch__.torch.classes.c10d.ProcessGroup process_group"
_REDUCE = "__torch__.torch.classes.c10d.ReduceOp reduce_op"
_WORK = "__torch__.torch.classes.c10d.Work"
_ASYNC = "bool async_op=True"
_TIMED = f"{_ASYNC}, int timeout=-1"

# : The rest of an operator's schema, after its name.
SCHEMAS: dict[str, str] = {
    "_allgather_base_": (
        f"(Tensor output_tensor, Tensor input_tensor, {_GROUP}, {_TIMED}) -> (Tensor, {_WORK})"
    ),
    "_reduce_scatter_base_": (
        f"(Tensor output_tensor, Tensor input_tensor, {_GROUP}, {_REDUCE}, {_TIMED}) -> (Tensor, "
        f"{_WORK})"
    ),
    "allgather_": (
        f"(Tensor[][] output_tensors, Tensor[] input_tensors, {_GROUP}, {_TIMED}) -> (Tensor[][], "
        f"{_WORK})"
    ),
    "allgather_coalesced_": (
        f"(Tensor[][] output_lists, Tensor[] input_list, {_GROUP}, {_ASYNC}) -> {_WORK}"
    ),
    "allgather_into_tensor_coalesced_": (
        f"(Tensor[] outputs, Tensor[] inputs, {_GROUP}, {_ASYNC}) -> {_WORK}"
    ),
    "allreduce_": (
        f"(Tensor[] tensors, {_GROUP}, {_REDUCE}, Tensor? sparse_indices, {_TIMED}) -> (Tensor[], "
        f"{_WORK})"
    ),
    "allreduce_coalesced_": f"(Tensor[] tensors, {_GROUP}, {_REDUCE}, {_TIMED}) -> {_WORK}",
    "alltoall_": (
        f"(Tensor[] output_tensors, Tensor[] input_tensors, {_GROUP}, {_TIMED}) -> (Tensor[], "
        f"{_WORK})"
    ),
    "alltoall_base_": (
        f"(Tensor output, Tensor input, {_GROUP}, int[] output_split_sizes, int[] "
        f"input_split_sizes, {_TIMED})"
        f" -> {_WORK}"
    ),
    "barrier": f"(Tensor tensor, {_GROUP}, int[] device_ids, {_TIMED}) -> {_WORK}",
    "broadcast_": (
        f"(Tensor[] tensors, {_GROUP}, int root_rank, int root_tensor, {_TIMED}) -> (Tensor[], "
        f"{_WORK})"
    ),
    "gather_": (
        f"(Tensor[][] output_tensors, Tensor[] input_tensors, {_GROUP}, int root_rank, {_TIMED}) "
        f"-> {_WORK}"
    ),
    "monitored_barrier_": (
        f"(Tensor tensor, {_GROUP}, int[] device_ids, int timeout, bool wait_all_ranks) -> ()"
    ),
    "recv_": f"(Tensor[] tensors, {_GROUP}, int src, int tag) -> {_WORK}",
    "recv_any_source_": f"(Tensor[] tensors, {_GROUP}, int tag) -> {_WORK}",
    "reduce_": (
        f"(Tensor[] tensors, {_GROUP}, {_REDUCE}, int root_rank, int root_tensor, {_TIMED}) -> "
        f"{_WORK}"
    ),
    "reduce_scatter_": (
        f"(Tensor[] output_tensors, Tensor[][] input_tensors, {_GROUP}, {_REDUCE}, {_TIMED})"
        f" -> (Tensor[], {_WORK})"
    ),
    "reduce_scatter_tensor_coalesced_": (
        f"(Tensor[] outputs, Tensor[] inputs, {_GROUP}, {_REDUCE}, {_TIMED}) -> {_WORK}"
    ),
    "scatter_": (
        f"(Tensor[] output_tensors, Tensor[][] input_tensors, {_GROUP}, int root_rank, {_TIMED})"
        f" -> (Tensor[], {_WORK})"
    ),
    "send": f"(Tensor[] tensors, {_GROUP}, int dst, int tag) -> {_WORK}",
}  # fmt: skip

# Sparse tensors have a dispatch key of their own; torch reduces them with the same operator.
_SPARSE = ("allreduce_",)

Kernel = Callable[..., Any]
Observer = Callable[[str, Any, tuple[Any, ...]], None]

#: Called in ranks before a kernel, with the operator's name, the process group and the arguments.
observers: list[Observer] = []
_library: torch.library.Library | None = None


def check_schemas() -> None:
    """Raises RuntimeError if an operator of the installed torch is missing or has another schema
    than expected.
    """
    installed = set(torch._C._dispatch_get_all_op_names())
    for name, expected in SCHEMAS.items():
        if f"c10d::{name}" not in installed:
            raise RuntimeError(
                f"[torch/operators] expected the operator c10d::{name}, got torch "
                f"{torch.__version__} without it"
            )
        schema = str(getattr(torch.ops.c10d, name).default._schema)
        if schema != f"c10d::{name}{expected}":
            raise RuntimeError(
                f"[torch/operators] expected the operator c10d::{name}{expected}, "
                f"got {schema} in torch {torch.__version__}"
            )


def install(kernels: dict[str, Kernel], group_of: Callable[[Any], Any]) -> None:
    """Registers the kernels, once for the life of the process.

    ``group_of`` gets an operator's process group as it stands in the arguments and returns the
    argument that the kernel gets in its place. None means that the original kernel is called.
    """
    global _library
    if _library is not None:
        return
    missing = set(SCHEMAS) - set(kernels)
    assert not missing, missing
    library = torch.library.Library("c10d", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # torch warns that kernels are replaced, which is the purpose
        for name, kernel in kernels.items():
            keys = ("CPU", "SparseCPU") if name in _SPARSE else ("CPU",)
            for key in keys:
                library.impl(name, _entry(name, key, kernel, group_of), key, with_keyset=True)
    _library = library


def _entry(name: str, key: str, kernel: Kernel, group_of: Callable[[Any], Any]) -> Kernel:
    original = torch.library.get_kernel(f"c10d::{name}", key)
    position = [a.name for a in getattr(torch.ops.c10d, name).default._schema.arguments].index(
        "process_group"
    )

    def entry(keyset: Any, *arguments: Any) -> Any:
        group = group_of(arguments[position])
        if group is None:
            return original.call_boxed(keyset, *arguments)
        for observe in observers:
            observe(name, torch.distributed.ProcessGroup.unbox(arguments[position]), arguments)
        return kernel(*arguments[:position], group, *arguments[position + 1 :])

    return entry
