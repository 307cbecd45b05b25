"""Records the kind ``fsdp_layout``: places of elements under ``fully_shard``, collectives' bits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from simmesh.recording import formula, placements, ranks
from simmesh.recording.fsdp import nodes, observation, sharding
from simmesh.recording.fsdp.event_log import EventLog, groups_of
from simmesh.recording.fsdp.program import Program, set_on

ANSWERS = (
    "stages",
    "groups",
    "state_after_forward",
    "state_after_backward",
    "grads",
    "collectives",
)


def answer(case: Mapping[str, Any], settings: ranks.Settings = ranks.Settings()) -> dict[str, Any]:
    """Returns the case with PyTorch's layouts, states, gradients and collectives."""

    def body(rank: int) -> dict[str, Any]:
        model = nodes.build(case)
        log = EventLog(model, watches=True)
        slots = dict(model.named_parameters(remove_duplicate=False))
        meshes = sharding.shard(model, case)
        _give_gradients(model, case, meshes, rank)
        for step in case.get("settings", ()):
            set_on(model.get_submodule(step.get("module", "")), step)
        with observation.logged(log):
            return _run(model, case, log, list(slots))

    with observation.observed():
        results = ranks.on_ranks(body, case["world"], settings)
    question = {name: value for name, value in case.items() if name not in ANSWERS}
    return {**question, **ranks.merge(results)}


def _run(
    model: nodes.Node, case: Mapping[str, Any], log: EventLog, slots: list[str]
) -> dict[str, Any]:
    stages = {"after_fully_shard": _stage(model, slots)}
    groups = [_group(group, log) for group in groups_of(model)]
    loss = model(Program(model, case.get("dtype", "float32")).input_of(case["forward_input"])).sum()
    stages["after_forward"] = _stage(model, slots)
    after_forward = _states(model, log)
    loss.backward()
    stages["after_backward"] = _stage(model, slots)
    return {
        "stages": stages,
        "groups": groups,
        "state_after_forward": after_forward,
        "state_after_backward": _states(model, log),
        "grads": _gradients(model, slots),
        "collectives": log.collectives,
    }


def _give_gradients(
    model: nodes.Node, case: Mapping[str, Any], meshes: sharding.Meshes, rank: int
) -> None:
    mesh = meshes.whole(case["mesh"])
    replica = rank
    if case.get("tp"):
        coordinate = dict(zip(mesh.mesh_dim_names or (), mesh.get_coordinate() or ()))
        replica = coordinate["dp"]
    cuts = dict(case.get("tp", ()))
    policies = {
        module: wrap.get("mp_policy") or {} for wrap in case["wraps"] for module in wrap["modules"]
    }
    dtype = case.get("dtype", "float32")
    for path, given in case["given_grads"].items():
        node = model.get_submodule(path)
        wanted = _policy_of(path, policies).get("param_dtype") or dtype
        for index, (name, shape) in enumerate(given):
            seed = case["grad_seed"] + 10 * index + 1000 * replica
            gradient = formula.values(shape, {"rule": case["grad_rule"], "seed": seed}, dtype)
            dim = cuts.get(f"{path}.{name}")
            if dim is not None:
                gradient = gradient.chunk(mesh["tp"].size(), dim)[mesh["tp"].get_local_rank()]
            node.given.append((name, gradient.to(formula.DTYPES[wanted])))


def _policy_of(path: str, policies: Mapping[str, Any]) -> Mapping[str, Any]:
    while path not in policies and path:
        path = path.rpartition(".")[0]
    return policies.get(path, {})


def _tensor(tensor: torch.Tensor, *, is_gradient: bool) -> dict[str, Any]:
    local = sharding.local_of(tensor)
    fields: dict[str, Any] = {"type": "plain", "shape": list(tensor.shape)}
    if isinstance(tensor, DTensor):
        fields = {
            "type": "dtensor",
            "placements": [placements.write(placement) for placement in tensor.placements],
            "shape": list(tensor.shape),
            "local_shape": list(local.shape),
            "contiguous": local.is_contiguous(),
            "mesh_shape": list(tensor.device_mesh.shape),
        }
    fields |= {"dtype": formula.name_of(local.dtype), "requires_grad": tensor.requires_grad}
    if is_gradient:
        dropped = (
            "requires_grad",
            "mesh_shape",
            *(["shape"] if isinstance(tensor, DTensor) else []),
        )
        fields = {name: value for name, value in fields.items() if name not in dropped}
    return {**fields, "hash": formula.bits(local)}


def _registered(model: nn.Module, slots: list[str]) -> list[tuple[str, torch.Tensor]]:
    return [(name, model.get_parameter(name)) for name in slots]


def _stage(model: nn.Module, slots: list[str]) -> dict[str, Any]:
    return {name: _tensor(tensor, is_gradient=False) for name, tensor in _registered(model, slots)}


def _gradients(model: nn.Module, slots: list[str]) -> dict[str, Any]:
    # A parameter of several slots has one gradient, which the first of them shows.
    seen: set[int] = set()
    gradients: dict[str, Any] = {}
    for name, tensor in _registered(model, slots):
        if id(tensor) not in seen:
            seen.add(id(tensor))
            gradients[name] = (
                None if tensor.grad is None else _tensor(tensor.grad, is_gradient=True)
            )
    return gradients


def _states(model: nn.Module, log: EventLog) -> dict[str, str]:
    return {log.group(group): group._sharded_state.name.lower() for group in groups_of(model)}


def _group(group: Any, log: EventLog) -> dict[str, Any]:
    entries, offset = [], 0
    for parameter in group.fsdp_params:
        padded = list(parameter.padded_sharded_param_size)
        entry = {
            "name": log.parameter(parameter),
            "unsharded_shape": list(parameter._orig_size),
            "shard_dim": parameter.fsdp_placement.dim,
            "sharded_shape": list(parameter.sharded_size),
            "padded_shape": padded,
            "gather_offset": offset,
            "gather_numel": math.prod(padded),
        }
        shared = log.aliases(parameter)
        entries.append({**entry, "shared_with": shared} if shared else entry)
        offset += math.prod(padded)
    return {"group": log.group(group), "gather_input_numel": offset, "params": entries}
