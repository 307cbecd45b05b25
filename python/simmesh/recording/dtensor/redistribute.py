"""Records the kind ``redistribute``: its steps, and the bits of every rank before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._dtensor_spec import DTensorSpec, ShardOrderEntry, TensorMeta
from torch.distributed.tensor._redistribute import redistribute_local_tensor

from simmesh.recording import formula, placements, ranks, refusals
from simmesh.recording.dtensor import planning

ANSWERS = ("steps", "collectives", "before", "after", "error")


def answer(case: Mapping[str, Any], settings: ranks.Settings = ranks.Settings()) -> dict[str, Any]:
    """Returns the case with the steps and bits of the installed PyTorch, or with its refusal.

    Raises ValueError if a case is asked of both planners and they answer differently.
    """
    question = {name: value for name, value in case.items() if name not in ANSWERS}
    planners = ["greedy", "graph"] if case["planner"] == "both" else [case["planner"]]
    answers = [_ask(case, planner, settings) for planner in planners]
    if answers[0] != answers[-1]:
        raise ValueError(
            f"[recording/redistribute] {case['id']}: expected one answer of both planners, got two;"
            " "
            f"make it a case for each planner"
        )
    return {**question, **answers[0]}


def _ask(case: Mapping[str, Any], planner: str, settings: ranks.Settings) -> dict[str, Any]:
    world = ranks.world_of(dict(case))
    with planning.planned_by(planner):
        results = ranks.on_ranks(lambda rank: _redistribute(case), world, settings)
    answered = next(result for result in results if result is not None)
    befores = [result and result["before"] for result in results]
    if "error" in answered:
        return {"before": befores, "error": answered["error"]}
    afters = [result and result["after"] for result in results]
    return {
        "steps": answered["steps"],
        "collectives": planning.collectives_of(answered["steps"], case["mesh"]["shape"]),
        "before": befores,
        "after": afters,
    }


def _redistribute(case: Mapping[str, Any]) -> dict[str, Any] | None:
    mesh = ranks.mesh_of(case["mesh"])
    for dims in case.get("flattened", ()):
        mesh[tuple(case["mesh"]["names"][dim] for dim in dims)]._flatten()
    if mesh.get_coordinate() is None:
        return None
    tensor = case["tensor"]
    source, target = ([placements.read(word) for word in case[end]] for end in ("from", "to"))
    local = placements.local_part(tensor["shape"], tensor, source, mesh, case.get("from_order", ()))
    before = entry_of(local, tensor["dtype"])
    try:
        with planning.noted() as plans:
            after = _moved(case, mesh, local, source, target)
    except Exception as error:
        return {"before": before, "error": refusals.describe(error, case.get("error"))}
    steps = planning.steps_of(plans[0], _plain(source)) if plans else []
    return {"before": before, "after": entry_of(after, tensor["dtype"]), "steps": steps}


def _moved(
    case: Mapping[str, Any],
    mesh: DeviceMesh,
    local: torch.Tensor,
    source: list[Any],
    target: list[Any],
) -> torch.Tensor:
    shape = torch.Size(case["tensor"]["shape"])
    whole = torch.empty(shape, device="meta")
    if case.get("api") == "local":
        meta = TensorMeta(shape, whole.stride(), local.dtype)
        specs = [
            DTensorSpec(mesh, tuple(ends), tensor_meta=meta, **_order(case.get(name)))
            for ends, name in ((source, "from_order"), (target, "to_order"))
        ]
        return redistribute_local_tensor(local, *specs)
    tensor = DTensor.from_local(
        local, mesh, source, run_check=False, shape=shape, stride=whole.stride()
    )
    return tensor.redistribute(placements=target).to_local()


def _order(order: Sequence[Any] | None) -> dict[str, Any]:
    if order is None:
        return {}
    return {
        "shard_order": tuple(ShardOrderEntry(dim, tuple(mesh_dims)) for dim, mesh_dims in order)
    }


def _plain(source: Sequence[Any]) -> list[Any]:
    return [
        placements.read(placements.write(p).split(",")[0].lstrip("_").rstrip(")") + ")")
        if placements.write(p).startswith("_S")
        else p
        for p in source
    ]


def entry_of(tensor: torch.Tensor, dtype: str) -> dict[str, Any]:
    """Returns a rank's entry: shape and hash, and the dtype where it isn't that of the case."""
    entry: dict[str, Any] = {"shape": list(tensor.shape), "hash": formula.bits(tensor)}
    name = formula.name_of(tensor.dtype)
    return entry if name == dtype else {**entry, "dtype": name}


def question(seed: int, shape: Sequence[int]) -> dict[str, Any]:
    """A random tensor with random placements before and after."""
    random = Random(f"redistribute {seed}")
    sizes = [random.choice([1, 2, 3, 4, 5, 8]) for _ in range(random.randint(1, 3))]
    dtype = random.choice(["float32", "float32", "float64", "bfloat16", "int64"])
    reduction = random.choice(
        ["sum", "max", "min"] if dtype == "int64" else ["sum", "avg", "max", "min"]
    )
    source = [_placement(random, len(sizes), f"P({reduction})") for _ in shape]
    target = [_placement(random, len(sizes), "R") for _ in shape]
    return {
        "kind": "redistribute",
        "id": f"recorded/{'x'.join(map(str, shape))}/redistribute/{seed}",
        "mesh": {"shape": list(shape)},
        "tensor": {"shape": sizes, "dtype": dtype, "rule": "wide", "seed": 1000 * seed + 7},
        "from": source,
        "to": target,
        "planner": random.choice(["greedy", "graph"]),
    }


def _placement(random: Random, dims: int, other: str) -> str:
    return random.choice(["R", other, *(f"S({dim})" for dim in range(dims))])
