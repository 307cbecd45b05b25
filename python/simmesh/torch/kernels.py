"""The collective operators of torch in a rank: each starts an operation of simmesh's core.

An operation is started and returns; its operands are read when the last member has come and its
results are written at that moment, so a program that touches a buffer too early can be caught.
Waiting is what ``RankWork`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

import torch

from simmesh import _core
from simmesh.torch import rank_state, strides
from simmesh.torch.monitored_barrier import monitored_barrier
from simmesh.torch.rank_state import Group
from simmesh.torch.several_tensors import combine
from simmesh.torch.sparse import all_reduce_sparse
from simmesh.torch.work import RankWork

Tensors = list[torch.Tensor]
Records = list[_core.exact.Record | None]

# Finds the records of exact values of tensors' storages; None where no mode keeps such values.
_find_records: Callable[[Tensors, bool], Records] | None = None


def carry(find_records: Callable[[Tensors, bool], Records]) -> None:
    """Lets collectives carry exact values, which ``find_records(tensors, are_results)`` finds.

    It returns no list outside of a mode that computes exactly, and has None in place of a tensor
    behind which nothing is kept.
    """
    global _find_records
    _find_records = find_records


def _records(inputs: Tensors, outputs: Tensors) -> dict[str, Any]:
    if _find_records is None:
        return {}
    return {
        "input_records": _find_records(inputs, False),
        "output_records": _find_records(outputs, True),
    }


def _record(tensor: torch.Tensor, is_result: bool) -> dict[str, Any]:
    records = [] if _find_records is None else _find_records([tensor], is_result)
    return {"record": records[0]} if records else {}


# In the order of torch's ReduceOp.RedOpType.
_REDUCTIONS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")


def _reduction(operator: Any) -> dict[str, Any]:
    reduce = _REDUCTIONS[operator.op()]
    if reduce != "premul_sum":
        return {"reduce": reduce}
    return {"reduce": reduce, "factor": rank_state.of_rank().premultiplier}


def _work(
    group: Group,
    operations: Sequence[_core.Operation],
    results: list[Any],
    timeout: int = -1,
    source: Callable[[], int | None] | None = None,
    name: str = "an operation",
    is_message: bool = False,
) -> Any:
    work = RankWork(
        operations,
        results,
        source=source,
        timeout=group.timeout if timeout < 0 else timeout / 1000,
        what=f"{name} of group {group.name} {group.members}",
        # Where CUDA's names lead to the CPU, the default backend's messages are NCCL's.
        ends_one_wait=is_message and group.backend == "gloo" and not torch.cuda.is_available(),
    )
    rank_state.of_rank().keep(group, work)
    return work.boxed()


def _operation(
    group: Group, name: str, inputs: Tensors, outputs: Tensors, **options: Any
) -> _core.Operation:
    strides.check(group, name, inputs)
    strides.check(group, name, outputs)
    rank_state.of_rank().calls.add(name, inputs)
    return group.core.collective(name, inputs, outputs, **options, **_records(inputs, outputs))


def _start(
    group: Group, name: str, inputs: Tensors, outputs: Tensors, timeout: int = -1, **options: Any
) -> Any:
    operation = _operation(group, name, inputs, outputs, **options)
    return _work(group, [operation], outputs, timeout, name=name)


def _start_reduction(
    group: Group,
    name: str,
    inputs: Tensors,
    outputs: Tensors,
    operator: Any,
    timeout: int,
    root: int = 0,
) -> Any:
    operation = _operation(group, name, inputs, outputs, root=root, **_reduction(operator))
    return _work(group, [operation], outputs, timeout, name=name)


def _single(tensors: Sequence[Any], name: str) -> Any:
    if len(tensors) != 1:
        raise ValueError(f"[torch/kernels] {name}: expected one tensor a rank, got {len(tensors)}")
    return tensors[0]


def _all_gather_base(output: torch.Tensor, input: torch.Tensor, group: Group,
                     async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    return output, _start(group, "all_gather", [input], [output], timeout)


def _reduce_scatter_base(output: torch.Tensor, input: torch.Tensor, group: Group, operator: Any,
                         async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    return output, _start_reduction(group, "reduce_scatter", [input], [output], operator, timeout)


def _all_gather(outputs: Sequence[Tensors], inputs: Tensors, group: Group,
                async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    if len(inputs) > 1:  # gloo takes several tensors of a rank, each list gets all of them
        return outputs, _all_gather_several(outputs, inputs, group, timeout)
    lists = _single(outputs, "all_gather")
    return outputs, _start(
        group, "all_gather_list", [_single(inputs, "all_gather")], lists, timeout
    )


def _all_gather_several(
    outputs: Sequence[Tensors], inputs: Tensors, group: Group, timeout: int
) -> Any:
    count = len(inputs)
    for row in outputs:
        if len(outputs) != count or len(row) != count * group.size:
            raise ValueError(
                f"[torch/kernels] all_gather: expected {count} lists of {count * group.size} "
                f"tensors, got {len(outputs)} lists, one of {len(row)}"
            )
    operations = [
        _operation(group, "all_gather_list", [tensor], row[index::count])
        for row in outputs
        for index, tensor in enumerate(inputs)
    ]
    return _work(group, operations, list(outputs), timeout, name="all_gather")


def _all_gather_coalesced(
    outputs: Sequence[Tensors], inputs: Tensors, group: Group, async_op: bool = True
) -> Any:
    operations = [
        _operation(group, "all_gather_list", [tensor], [row[index] for row in outputs])
        for index, tensor in enumerate(inputs)
    ]
    return _work(group, operations, [tensor for row in outputs for tensor in row])


def _all_gather_into_tensor_coalesced(
    outputs: Tensors, inputs: Tensors, group: Group, async_op: bool = True
) -> Any:
    return _start(group, "all_gather", inputs, outputs)


def _all_reduce(tensors: Tensors, group: Group, operator: Any, sparse_indices: Any = None,
                async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    if len(tensors) > 1:
        combine(tensors, _reduction(operator)["reduce"])
    if tensors and tensors[0].is_sparse:
        work = all_reduce_sparse(tensors, group, _reduction(operator))
        rank_state.of_rank().keep(group, work)
        return tensors, work.boxed()
    return tensors, _all_reduce_coalesced(tensors, group, operator, async_op, timeout)


def _all_reduce_coalesced(tensors: Tensors, group: Group, operator: Any,
                          async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    return _start_reduction(group, "all_reduce", tensors, tensors, operator, timeout)


def _all_to_all(outputs: Tensors, inputs: Tensors, group: Group,
                async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    return outputs, _start(group, "all_to_all_list", inputs, outputs, timeout)


def _all_to_all_base(output: torch.Tensor, input: torch.Tensor, group: Group,
                     output_splits: Sequence[int], input_splits: Sequence[int],
                     async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    sent, taken = list(input_splits), list(output_splits)
    if sent or taken:  # torch lets one side alone have equal parts
        sent = sent or _equal_splits(input, group)
        taken = taken or _equal_splits(output, group)
    return _start(
        group, "all_to_all", [input], [output], timeout, input_splits=sent, output_splits=taken
    )


def _equal_splits(tensor: torch.Tensor, group: Group) -> list[int]:
    rows = tensor.size(0) if tensor.dim() else 1
    if rows % group.size:
        raise ValueError(
            f"[torch/kernels] all_to_all of group {group.name}: expected a number of rows that is "
            f"a multiple of {group.size}, or splits, got {rows}"
        )
    return [rows // group.size] * group.size


def _barrier(tensor: torch.Tensor, group: Group, device_ids: Sequence[int],
             async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    return _start(group, "barrier", [], [], timeout)


def _broadcast(tensors: Tensors, group: Group, root: int, root_tensor: int,
               async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    if len(tensors) > 1:  # gloo writes the root's one tensor to all of each rank
        return tensors, _broadcast_several(tensors, group, root, root_tensor, timeout)
    return tensors, _start(group, "broadcast", tensors, tensors, timeout, root=root)


def _broadcast_several(
    tensors: Tensors, group: Group, root: int, root_tensor: int, timeout: int
) -> Any:
    if not 0 <= root_tensor < len(tensors):
        raise ValueError(
            f"[torch/kernels] broadcast: expected a root tensor below {len(tensors)}, got "
            f"{root_tensor}"
        )
    sent = tensors[root_tensor]
    operations = [
        _operation(group, "broadcast", [sent if group.rank == root else each], [each], root=root)
        for each in tensors
    ]
    return _work(group, operations, tensors, timeout)


def _gather(outputs: Sequence[Tensors], inputs: Tensors, group: Group, root: int,
            async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    lists = _single(outputs, "gather") if group.rank == root else []
    return _start(group, "gather", [_single(inputs, "gather")], lists, timeout, root=root)


def _scatter(outputs: Tensors, inputs: Sequence[Tensors], group: Group, root: int,
             async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    pieces = _single(inputs, "scatter") if group.rank == root else []
    return outputs, _start(
        group, "scatter", pieces, [_single(outputs, "scatter")], timeout, root=root
    )


def _reduce(tensors: Tensors, group: Group, operator: Any, root: int, root_tensor: int,
            async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    _single(tensors, "reduce")
    outputs = tensors if group.rank == root else []
    return _start_reduction(group, "reduce", tensors, outputs, operator, timeout, root=root)


def _reduce_scatter(outputs: Tensors, inputs: Sequence[Tensors], group: Group, operator: Any,
                    async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    """One reduction a member, so that pieces of different shapes need no buffer and are read in
    place.
    """
    reduction = _reduction(operator)
    output, pieces = _single(outputs, "reduce_scatter"), _single(inputs, "reduce_scatter")
    if len(pieces) != group.size:
        raise ValueError(
            f"[torch/kernels] reduce_scatter: expected {group.size} inputs, got {len(pieces)}"
        )
    operations = [
        _operation(
            group, "reduce", [piece], [output] if root == group.rank else [], root=root, **reduction
        )
        for root, piece in enumerate(pieces)
    ]
    return outputs, _work(group, operations, outputs, timeout)


def _reduce_scatter_tensor_coalesced(outputs: Tensors, inputs: Tensors, group: Group, operator: Any,
                                     async_op: bool = True, timeout: int = -1) -> Any:  # fmt: skip
    return _start_reduction(group, "reduce_scatter", inputs, outputs, operator, timeout)


def _send(tensors: Tensors, group: Group, peer: int, tag: int) -> Any:
    strides.check(group, "send", tensors)
    tensor = _single(tensors, "send")
    rank_state.of_rank().calls.add("send", tensors)
    operation = group.core.send(tensor, peer, tag, **_record(tensor, False))
    return _work(group, [operation], tensors, name="a send", is_message=True)


def _receive(tensors: Tensors, group: Group, peer: int | None, tag: int) -> Any:
    strides.check(group, "recv", tensors)
    tensor = _single(tensors, "recv")
    rank_state.of_rank().calls.add("recv", tensors)
    operation = group.core.recv(tensor, peer, tag, **_record(tensor, True))
    return _work(
        group, [operation], tensors, source=lambda: operation.source, name="a receive",
        is_message=True,
    )  # fmt: skip


def _receive_any(tensors: Tensors, group: Group, tag: int) -> Any:
    return _receive(tensors, group, None, tag)


#: The kernel of each operator, which gets the group in place of the process group.
KERNELS: dict[str, Callable[..., Any]] = {
    "_allgather_base_": _all_gather_base,
    "_reduce_scatter_base_": _reduce_scatter_base,
    "allgather_": _all_gather,
    "allgather_coalesced_": _all_gather_coalesced,
    "allgather_into_tensor_coalesced_": _all_gather_into_tensor_coalesced,
    "allreduce_": _all_reduce,
    "allreduce_coalesced_": _all_reduce_coalesced,
    "alltoall_": _all_to_all,
    "alltoall_base_": _all_to_all_base,
    "barrier": _barrier,
    "broadcast_": _broadcast,
    "gather_": _gather,
    "monitored_barrier_": monitored_barrier,
    "recv_": _receive,
    "recv_any_source_": _receive_any,
    "reduce_": _reduce,
    "reduce_scatter_": _reduce_scatter,
    "reduce_scatter_tensor_coalesced_": _reduce_scatter_tensor_coalesced,
    "scatter_": _scatter,
    "send": _send,
}
