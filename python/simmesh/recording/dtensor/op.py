"""Records the kinds ``op`` and ``op_grad``: one call of a function of PyTorch on DTensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Callable

import torch
from torch.distributed.tensor import DTensor, Replicate, placement_types
from torch.distributed.tensor.debug import CommDebugMode

from simmesh import _core
from simmesh.recording import formula, placements, ranks, refusals

ANSWERS = (
    "outputs",
    "comm",
    "error",
    "message_contains",
    "grads",
    "comm_backward",
    "error_in",
    "used",
    "steps",
    "aten",
)
_NAMES = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "all_to_all": "all_to_all",
    "broadcast": "broadcast",
    "scatter": "scatter",
}
_exchanges: dict[int, int] = {}


def answer(case: Mapping[str, Any], settings: ranks.Settings = ranks.Settings()) -> dict[str, Any]:
    """Returns the case with PyTorch's results and collectives, or with its refusal."""
    question = {name: value for name, value in case.items() if name not in ANSWERS}
    with _exchanges_counted():
        results = ranks.on_ranks(lambda rank: _call(case), ranks.world_of(dict(case)), settings)
    if "error" in results[0]:
        return {**question, **results[0]}
    answered: dict[str, Any] = {"outputs": _joined([result["outputs"] for result in results])}
    answered["comm"] = results[0]["comm"]
    if "grads" in results[0]:
        answered |= {"grads": _joined([result["grads"] for result in results])}
        answered["comm_backward"] = results[0]["comm_backward"]
    return {**question, **answered}


@contextmanager
def _exchanges_counted() -> Iterator[None]:
    # On the CPU a change of the sharded dim is a gather, which counts as the all_to_all that it
    # replaces.
    original = placement_types.shard_dim_alltoall

    def counted(*arguments: Any, **keywords: Any) -> Any:
        rank = _core.rank()
        if rank in _exchanges:
            _exchanges[rank] += 1
        return original(*arguments, **keywords)

    placement_types.shard_dim_alltoall = counted
    try:
        yield
    finally:
        placement_types.shard_dim_alltoall = original


def _counted(call: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    rank = _core.rank()
    assert rank is not None
    _exchanges[rank] = 0
    with CommDebugMode() as mode:
        result = call()
    counts: dict[str, int] = {}
    for operator, count in mode.get_comm_counts().items():
        name = next((word for part, word in _NAMES.items() if part in str(operator)), None)
        if name is not None and count:
            counts[name] = counts.get(name, 0) + count
    if exchanged := _exchanges.pop(rank):
        counts["all_gather"] -= exchanged
        counts["all_to_all"] = counts.get("all_to_all", 0) + exchanged
    return result, {name: count for name, count in sorted(counts.items()) if count}


def _call(case: Mapping[str, Any]) -> dict[str, Any]:
    mesh = ranks.mesh_of(case["mesh"])
    has_backward = case["kind"] == "op_grad"
    inputs = [_input(record, mesh) for record in case["inputs"]]
    asked = {entry["input"] for entry in case.get("grads", ()) if entry is not None} or range(
        len(inputs)
    )
    if has_backward:
        for index in asked:
            if inputs[index].is_floating_point():
                inputs[index].requires_grad_()
    arguments = [_value(argument, inputs) for argument in case["args"]]
    keywords = {name: _value(value, inputs) for name, value in case.get("kwargs", {}).items()}
    function = _function(case["torch"])
    try:
        result, comm = _counted(lambda: function(*arguments, **keywords))
    except Exception as error:
        return _refused(case, error)
    outputs = _flat(arguments[0] if case.get("inplace") else result)
    described: dict[str, Any] = {"comm": comm}
    if has_backward:
        gradient = _input(case["grad_output"], mesh)
        try:
            _, described["comm_backward"] = _counted(lambda: outputs[0].backward(gradient))
        except Exception as error:
            return {**_refused(case, error), "error_in": "backward"}
        described["grads"] = [
            None if tensor.grad is None else {**_output(tensor.grad, case), "input": index}
            for index, tensor in enumerate(inputs)
            if tensor.requires_grad
        ]
    return {**described, "outputs": [_output(output, case) for output in outputs]}


def _refused(case: Mapping[str, Any], error: Exception) -> dict[str, Any]:
    name, phrase = refusals.phrase_of(error, case.get("message_contains"))
    return {"error": name, "message_contains": phrase}


def _input(record: Mapping[str, Any], mesh: Any) -> torch.Tensor:
    if record["placements"] is None:
        return formula.values(record["shape"], record)
    own = ranks.mesh_of(record["mesh"]) if "mesh" in record else mesh
    words = [placements.read(word) for word in record["placements"]]
    local = placements.local_part(record["shape"], record, words, own)
    shape = torch.Size(record["shape"])
    stride = torch.empty(shape, device="meta").stride()
    return DTensor.from_local(local, own, words, run_check=False, shape=shape, stride=stride)


def _value(value: Any, inputs: Sequence[torch.Tensor]) -> Any:
    if isinstance(value, dict):
        return inputs[value["input"]] if "input" in value else formula.DTYPES[value["dtype"]]
    if isinstance(value, list):
        return [_value(item, inputs) for item in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


def _function(name: str) -> Callable[..., Any]:
    root, *path = name.split(".")
    found: Any = {"torch": torch, "Tensor": torch.Tensor}.get(root)
    for part in path:
        found = getattr(found, part, None)
    if found is None:
        raise ValueError(f"[recording/op] expected a function of the installed PyTorch, got {name}")
    return found


def _flat(value: Any) -> list[Any]:
    return (
        [part for item in value for part in _flat(item)]
        if isinstance(value, (list, tuple))
        else [value]
    )


def _output(output: Any, case: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(output, torch.Tensor):
        return {"value": output}
    entry = {"shape": list(output.shape), "dtype": formula.name_of(output.dtype)}
    if not isinstance(output, DTensor):
        return {
            **entry,
            "plain_tensor": True,
            "local_shape": list(output.shape),
            **_bits("", output, case),
        }
    whole = (
        output.detach().redistribute(placements=[Replicate()] * output.device_mesh.ndim).to_local()
    )
    local = output.to_local()
    return {
        **entry,
        "placements": [placements.write(placement) for placement in output.placements],
        "local_shape": list(local.shape),
        **_bits("", local, case),
        **_bits("full_", whole, case),
    }


def _bits(prefix: str, tensor: torch.Tensor, case: Mapping[str, Any]) -> dict[str, Any]:
    tensor = tensor.detach()
    if "rtol" in case:
        return {f"{prefix}values": [_number(value) for value in tensor.double().flatten().tolist()]}
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.is_floating_point():
        tensor = torch.where(tensor.isnan(), torch.full_like(tensor, float("nan")), tensor) + 0.0
    return {f"{prefix}hash": formula.bits(tensor)}


def _number(value: float) -> Any:
    return value if value - value == 0 else str(value)


def _joined(of_rank: Sequence[Sequence[dict[str, Any] | None]]) -> list[dict[str, Any] | None]:
    joined = []
    for index, first in enumerate(of_rank[0]):
        if first is None or "value" in first:
            joined.append(first)
            continue
        parts = [entries[index] or {} for entries in of_rank]
        each: dict[str, Any] = {
            name: [part[name] for part in parts]
            for name in ("local_shape", "hash", "values")
            if name in first
        }
        joined.append({**first, **each})
    return joined
