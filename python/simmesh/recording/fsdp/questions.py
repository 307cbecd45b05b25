"""Random FSDP2 cases without answers: models, meshes, calls of ``fully_shard``, programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

from simmesh.recording import formula
from simmesh.recording.fsdp import description, nodes

Mesh = Sequence[int]


def mesh_of(shape: Mesh) -> dict[str, Any]:
    """Returns the mesh that ``fully_shard`` gets: one dim shards; of two, the first replicates."""
    if len(shape) not in (1, 2):
        raise ValueError(
            f"[recording/questions] expected a mesh of one or two dims for fsdp, got {list(shape)}"
        )
    names = {"names": ["dp_replicate", "dp_shard"]} if len(shape) == 2 else {}
    return {"shape": list(shape), **names}


def events(seed: int, shape: Mesh) -> dict[str, Any]:
    """A random stack of blocks with a program of forwards, backwards and settings."""
    random = Random(f"events {seed}")
    width = random.randint(2, 5)
    model = _blocks(random, width, random.randint(2, 4))
    wraps = _wraps(random, model, shape[-1])
    return {
        "kind": "fsdp_events",
        **case_of(f"events/{seed}", shape, model, wraps, "unit", scale=0.5),
        "program": _program(random, [name for wrap in wraps for name in wrap["modules"]], width),
    }


def layout(seed: int, shape: Mesh) -> dict[str, Any]:
    """Parameters of random shapes, most of them uneven, with gradients whose sums round."""
    random = Random(f"layout {seed}")
    children = []
    for index in range(random.randint(1, 3)):
        slots = [[f"p{slot}", _shape(random)] for slot in range(random.randint(1, 4))]
        children.append({"name": f"n{index}", "kind": "params", "params": slots})
    model = {"name": "", "kind": "sequential", "children": children}
    wraps = _wraps(random, model, shape[-1])
    if any(type(wrap.get("reshard_after_forward")) is int for wrap in wraps):
        _make_even(children, shape[-1])
    policy = _policy(random)
    if policy is not None:
        wraps = [{**wrap, "mp_policy": policy} for wrap in wraps]
    return {
        **layout_case(f"layout/{seed}", model, shape, wraps, seed),
        "settings": _divisions(random),
    }


def layout_case(
    name: str, model: dict[str, Any], shape: Mesh, wraps: list[dict[str, Any]], seed: int
) -> dict[str, Any]:
    """A layout case of a model of ``params`` nodes."""
    return {
        "kind": "fsdp_layout",
        **case_of(name, shape, model, wraps, "wide"),
        "given_grads": _given(model, ""),
        "grad_rule": "wide",
        "grad_seed": 5000 + 100 * seed,
        "forward_input": {"shape": [1], "rule": "small", "seed": 1, "requires_grad": True},
    }


def train(seed: int, shape: Mesh) -> dict[str, Any]:
    """A training run whose numbers are small integers, so that every sum is exact in any order.

    A mean over a number of ranks that isn't a power of two rounds: the case then has real numbers
    and a tolerance.
    """
    random = Random(f"train {seed}")
    world = math.prod(shape)
    is_exact = world & (world - 1) == 0
    dtype = random.choice(["float32", "float64"]) if is_exact else "float64"
    depth = 1 if dtype == "float32" else random.randint(1, 2)
    sizes = [random.choice([1, 2, 3, 4, 5]) for _ in range(depth + 1)]
    layers = [_linear(f"l{i}", sizes[i], sizes[i + 1], random.random() < 0.5) for i in range(depth)]
    model = {"name": "", "kind": "sequential", "children": layers}
    wraps = _wraps(random, model, shape[-1])
    parts = random.choice([1, 2])
    rule = "small" if is_exact else "unit"
    return {
        **case_of(f"train/{seed}", shape, model, wraps, rule),
        **training(
            2 * world, sizes[0], sizes[-1], seed, rule=rule, steps=random.randint(1, 2), dtype=dtype
        ),
        "microbatches": parts,
        "sync": random.choice(["every", "last"]) if parts > 1 else "every",
        "optimizer": {
            "name": "sgd",
            "lr": random.choice([1.0, 0.5]),
            "momentum": random.choice([0.0, 0.5]),
            "dampening": 0.0,
            "weight_decay": random.choice([0.0, 0.5]),
            "nesterov": False,
        },
    }


def training(
    rows: int, inputs: int, outputs: int, seed: int, *, rule: str, steps: int, dtype: str
) -> dict[str, Any]:
    """The fields of a training run on batches by formula: exact where the rule is ``small``."""
    is_exact = rule == "small"
    tolerance = {} if is_exact else {"tolerance": {"rtol": 1e-9, "atol": 1e-12}}
    return {
        "kind": "train_exact" if is_exact else "train",
        "dtype": dtype,
        **tolerance,
        "steps": steps,
        "microbatches": 1,
        "sync": "every",
        "input": {"shape": [rows, inputs], "rule": rule, "seed": 201 + seed},
        "target": {"shape": [rows, outputs], "rule": rule, "seed": 301 + seed},
        "step_seed": 1000,
        "microbatch_seed": 100,
        "loss": "dot" if is_exact else "mse",
    }


def case_of(
    name: str,
    shape: Mesh,
    model: dict[str, Any],
    wraps: list[dict[str, Any]],
    rule: str,
    **data: Any,
) -> dict[str, Any]:
    """The fields that all kinds have; the parameters get values by ``rule``."""
    built = nodes.Node(model, formula.DTYPES["float32"])
    return {
        "id": f"recorded/{'x'.join(map(str, shape))}/{name}",
        "world": math.prod(shape),
        "mesh": mesh_of(shape),
        "model": model,
        "params": description.parameters_of(built, 100, rule=rule, **data),
        "wraps": wraps,
    }


def _linear(name: str, inputs: int, outputs: int, bias: bool) -> dict[str, Any]:
    return {"name": name, "kind": "linear", "in": inputs, "out": outputs, "bias": bias}


def _blocks(random: Random, width: int, depth: int) -> dict[str, Any]:
    blocks = []
    for index in range(depth):
        inner = random.randint(2, 7)
        layers = [
            _linear("up", width, inner, random.random() < 0.7),
            {"name": "act", "kind": "relu"},
            _linear("down", inner, width, random.random() < 0.7),
        ]
        kind = random.choice(["sequential", "residual"])
        block = {"name": str(index), "kind": kind, "children": layers}
        blocks.append({**block, "ac": True} if random.random() < 0.15 else block)
    return {
        "name": "",
        "kind": "sequential",
        "children": [
            _linear("in", width, width, True),
            {"name": "layers", "kind": "sequential", "children": blocks},
        ],
    }


def _wraps(random: Random, model: dict[str, Any], shards: int) -> list[dict[str, Any]]:
    wraps = []
    for name in _wrappable(model, ""):
        if random.random() < 0.75:
            wraps.append({"modules": [name], **_reshard(random, shards)})
    return [*wraps, {"modules": [""], **_reshard(random, shards)}]


def _wrappable(node: dict[str, Any], path: str) -> list[str]:
    names = []
    for child in node.get("children", ()):
        name = f"{path}.{child['name']}" if path else child["name"]
        names += [*_wrappable(child, name)] if child.get("children") else []
        if child["kind"] != "relu" and name != "layers":
            names.append(name)
    return names


def _reshard(random: Random, shards: int) -> dict[str, Any]:
    factors = [n for n in range(2, shards) if shards % n == 0]
    options: list[Any] = [True, True, False, None, "absent", *factors]
    chosen = random.choice(options)
    return {} if chosen == "absent" else {"reshard_after_forward": chosen}


def _policy(random: Random) -> dict[str, Any] | None:
    return random.choice(
        [
            None,
            None,
            {"param_dtype": "bfloat16", "reduce_dtype": "float32"},
            {"param_dtype": "bfloat16"},
            {"reduce_dtype": "bfloat16"},
            {"reduce_dtype": "float64"},
            {"param_dtype": "float16", "reduce_dtype": "float32"},
        ]
    )


def _divisions(random: Random) -> list[dict[str, Any]]:
    return random.choice(
        [
            [],
            [],
            [{"do": "set", "module": "", "what": "gradient_divide_factor", "value": 3.0}],
            [{"do": "set", "module": "", "what": "force_sum_reduction_for_comms", "value": True}],
        ]
    )


def _make_even(children: list[dict[str, Any]], shards: int) -> None:
    # PyTorch gathers wrong rows after a partial reshard of uneven rows, so no case asks for that.
    for child in children:
        for _, shape in child["params"]:
            shape[0] = -(-shape[0] // shards) * shards


def _shape(random: Random) -> list[int]:
    return [random.randint(1, 7), *(random.randint(1, 3) for _ in range(random.randint(0, 2)))]


def _given(node: dict[str, Any], path: str) -> dict[str, Any]:
    if node["kind"] == "params":
        return {path: node["params"]}
    given: dict[str, Any] = {}
    for child in node["children"]:
        given |= _given(child, f"{path}.{child['name']}" if path else child["name"])
    return given


def program(steps: int, x: dict[str, Any]) -> list[dict[str, Any]]:
    """Plain training steps: forward, backward, gradients dropped."""
    turns: list[dict[str, Any]] = []
    for _ in range(steps):
        turns += [
            {"do": "forward", "module": "", "x": x, "as": "y"},
            {"do": "backward", "of": ["y"]},
            {"do": "zero_grad"},
        ]
    return turns


def _program(random: Random, wrapped: list[str], width: int) -> list[dict[str, Any]]:
    x = {"shape": [2, width], "rule": "unit", "seed": 5, "requires_grad": random.random() < 0.5}
    whole = program(random.randint(1, 2), x)
    before: list[dict[str, Any]] = []
    others = [name for name in wrapped if name]
    if random.random() < 0.3 and len(others) > 1:
        by, target = random.sample(others, 2)
        kind = random.choice(["forward", "backward"])
        before.append({"do": "set_prefetch", "module": by, "kind": kind, "targets": [target]})
    if random.random() < 0.3:
        before.append({"do": "set", "module": "", "what": "reshard_after_backward", "value": False})
    if random.random() < 0.4:
        x2 = {**x, "seed": 6}
        before += [
            {"do": "set", "module": "", "what": "requires_gradient_sync", "value": False},
            {"do": "set", "module": "", "what": "is_last_backward", "value": False},
            {"do": "forward", "module": "", "x": x2, "as": "z"},
            {"do": "backward", "of": ["z"]},
            {"do": "set", "module": "", "what": "requires_gradient_sync", "value": True},
            {"do": "set", "module": "", "what": "is_last_backward", "value": True},
        ]
    return [*before, *whole]
