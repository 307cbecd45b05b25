"""Recorded cases of typed tensors, run through a package: ``simmesh.typed``, or ``spmd_types``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from simmesh import typed
from typed_calls import raw_call, torch_call

Case = dict[str, Any]
_CONVERSIONS = frozenset({
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "convert", "reinterpret",
    "redistribute", "shard", "unshard", "invariant_to_replicate",
})  # fmt: skip


def read_cases(folder: Path, name: str) -> list[Case]:
    """The cases of a file."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def type_of_text(text: str, package: Any = typed) -> Any:
    """A recorded type as a package's."""
    return package.S(int(text[2:-1])) if text.startswith("S(") else getattr(package, text)


def _value(operand: Case, is_written: bool) -> Any:
    if "scalar" in operand:
        number = operand["scalar"]
        return typed.Scalar(number, _types(operand["t"])) if "t" in operand else number
    dtype = getattr(torch, operand.get("dtype", "float32"))
    value = torch.ones(operand["shape"], dtype=dtype)
    if not dtype.is_floating_point and dtype != torch.bool:
        value.zero_()
    if operand.get("grad"):
        value.requires_grad_()
        value = value * 1 if is_written else value
    if operand["t"] is not None:
        _state(value, _types(operand["t"]))
    return value


def _state(value: torch.Tensor, types: dict[str, Any]) -> None:
    """Gives a tensor types; several that cut one dim cut it in the order of the mesh."""
    cut = [[axis for axis, each in types.items() if each.dim == dim] for dim in range(value.dim())]
    if not any(len(axes) > 1 for axes in cut):
        typed.assert_type(value, types)
        return
    plain = {axis: type_of_text(each.letter) for axis, each in types.items()}
    entries = [tuple(axes) or None for axes in cut]
    typed.assert_type(value, plain, typed.PartitionSpec(*entries))


def _types(texts: dict[str, str]) -> dict[str, Any]:
    return {axis: type_of_text(text) for axis, text in texts.items()}


@contextlib.contextmanager
def _mode(case: Case, mesh: DeviceMesh) -> Iterator[None]:
    has_mesh = case.get("current_mesh", True)
    with contextlib.ExitStack() as stack:
        if has_mesh:
            stack.enter_context(typed.set_current_mesh(mesh))
        stack.enter_context(
            typed.typecheck(case.get("mode", "strict"), local=not case.get("global", False))
        )
        if case.get("no_grad"):
            stack.enter_context(torch.no_grad())
        yield


def run_rule(case: Case, mesh: DeviceMesh) -> Case:
    """The outcome of one call, in the form of the record."""
    op = case["op"]
    is_written = op.endswith("_") or bool(case.get("args", {}).get("inplace"))
    with typed.set_current_mesh(mesh):
        operands = [_value(each, is_written) for each in case["operands"]]
    try:
        with _mode(case, mesh):
            results = _call(case, operands, mesh)
    except (typed.SpmdTypeError, typed.SpmdValueError) as error:
        kind = "ValueError" if isinstance(error, ValueError) else "SpmdTypeError"
        if isinstance(error, typed.DTensorPropagationError):
            kind = "DTensorPropagationError"
        refused = {"error": kind, "code": error.code}
        return {"refused": {**refused, **({"axis": error.axis} if error.axis else {})}}
    outcome: Case = {}
    if results is None:
        return {"accepted": True}
    outcome["result"] = [_described(each) for each in results]
    if op in _CONVERSIONS and any(results[0] is each for each in operands):
        outcome["same"] = True
    return outcome


def _described(tensor: torch.Tensor) -> Case:
    types = typed.type_of(tensor) if typed.has_type(tensor) else None
    found: Case = {
        "t": None if types is None else {axis: each.letter for axis, each in types.items()},
        "shape": list(tensor.shape),
    }
    spec = typed.partition_spec_of(tensor)
    if spec is not None:
        found["spec"] = [[each] if isinstance(each, str) else each and list(each) for each in spec]
    return found


def _axis(case: Case) -> Any:
    axis = case["axis"]
    return tuple(axis) if isinstance(axis, list) else axis


def _call(case: Case, operands: list[Any], mesh: DeviceMesh) -> list[torch.Tensor] | None:
    op, args = case["op"], dict(case.get("args", {}))
    for key in ("src", "dst"):
        if key in args:
            args[key] = type_of_text(args[key])
    if op in _CONVERSIONS:
        function: Callable[..., Any] = getattr(typed, op)
        if case.get("current_mesh") is False:
            return [function(operands[0], mesh.get_group(_axis(case)), **args)]
        return [function(operands[0], _axis(case), **args)]
    if op.startswith("dist."):
        group = mesh.get_group(case["axis"])
        return raw_call(op, operands, group, dist.get_world_size(group))
    if op == "assert_type":
        return [typed.assert_type(operands[0], _types(args["type"]))]
    if op in ("mutate_type", "reinterpret_no_grad"):
        return [getattr(typed, op)(operands[0], case["axis"], **args)]
    if op == "backward":
        with typed.no_typecheck():
            loss = operands[0] * 1
            ones = torch.ones_like(loss)
            loss.__dict__.update(operands[0].__dict__)
        loss.backward(ones if args["gradient"] else None)
        return None
    result = torch_call(op)(*operands, **args)
    if result is None:
        return None
    return list(result) if isinstance(result, (tuple, list)) else [result]


def run_program(case: Case, mesh: DeviceMesh) -> Case:
    """The outcome of a program, in the form of the record."""
    values: dict[str, Any] = {}
    with typed.set_current_mesh(mesh):
        for each in case["inputs"]:
            values[each["name"]] = _value(each, False)
    done: list[str] = []
    outcome: Case = {}
    for at, step in enumerate(case["steps"]):
        operands = [values[each] if isinstance(each, str) else each for each in step["in"]]
        try:
            with _mode(case, mesh):
                if step["op"] == "backward":
                    operands[0].backward()
                    continue
                results = _call(step, operands, mesh)
        except (typed.SpmdTypeError, typed.SpmdValueError) as error:
            outcome["refused"] = {"step": at, "code": error.code}
            break
        assert results is not None
        values[step["out"]] = results[0]
        done.append(step["out"])
    outcome["types"] = {name: _described(each)["t"] for name, each in values.items()}
    outcome["shapes"] = {name: list(values[name].shape) for name in done}
    return outcome
