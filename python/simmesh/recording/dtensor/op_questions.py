"""Random calls of functions that PyTorch distributes, without answers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Callable

Inputs = tuple[list[list[int]], list[Any]]


def _unary(random: Random) -> Inputs:
    return [_shape(random)], []


def _binary(random: Random) -> Inputs:
    shape = _shape(random)
    return [shape, shape], []


def _product(random: Random) -> Inputs:
    rows, inner, columns = (random.randint(1, 6) for _ in range(3))
    return [[rows, inner], [inner, columns]], []


def _swap(random: Random) -> Inputs:
    return [[random.randint(1, 6), random.randint(1, 6)]], [0, 1]


def _along(random: Random) -> Inputs:
    shape = _shape(random)
    return [shape], [random.randrange(len(shape))]


_OPS: list[tuple[str, str, str, Callable[[Random], Inputs]]] = [
    ("abs", "torch.abs", "pointwise", _unary),
    ("neg", "torch.neg", "pointwise", _unary),
    ("relu", "torch.relu", "pointwise", _unary),
    ("add", "torch.add", "pointwise", _binary),
    ("mul", "torch.mul", "pointwise", _binary),
    ("sub", "torch.sub", "pointwise", _binary),
    ("maximum", "torch.maximum", "pointwise", _binary),
    ("mm", "torch.mm", "matrix", _product),
    ("transpose", "torch.transpose", "view", _swap),
    ("sum", "torch.sum", "reduction", _along),
]


def op(seed: int, shape: Sequence[int]) -> dict[str, Any]:
    """A random function on small integers, whose sums and products are exact in any order."""
    return _question("op", seed, shape)


def op_grad(seed: int, shape: Sequence[int]) -> dict[str, Any]:
    """The same with a backward pass."""
    return _question("op_grad", seed, shape)


def _question(kind: str, seed: int, mesh: Sequence[int]) -> dict[str, Any]:
    random = Random(f"{kind} {seed}")
    name, function, family, inputs_of = random.choice(_OPS)
    shapes, rest = inputs_of(random)
    inputs = [
        {
            "shape": shape,
            "dtype": "float32",
            "rule": "small",
            "seed": 1000 * seed + index,
            "placements": [_placement(random, len(shape), kind) for _ in mesh],
        }
        for index, shape in enumerate(shapes)
    ]
    case: dict[str, Any] = {
        "kind": kind,
        "id": f"recorded/{'x'.join(map(str, mesh))}/{kind}/{name}/{seed}",
        "family": family,
        "op": name,
        "torch": function,
        "mesh": {"shape": list(mesh)},
        "inputs": inputs,
        "args": [*({"input": index} for index in range(len(inputs))), *rest],
    }
    if kind == "op_grad":
        case["grad_output"] = {
            "shape": _result(name, shapes, rest),
            "dtype": "float32",
            "rule": "small",
            "seed": 1000 * seed + 9,
            "placements": ["R" for _ in mesh],
        }
    return case


def _result(name: str, shapes: list[list[int]], rest: list[Any]) -> list[int]:
    if name == "mm":
        return [shapes[0][0], shapes[1][1]]
    if name == "transpose":
        return shapes[0][::-1]
    return [size for dim, size in enumerate(shapes[0]) if name != "sum" or dim != rest[0]]


def _shape(random: Random) -> list[int]:
    return [random.choice([2, 3, 4, 5, 8]) for _ in range(random.randint(1, 3))]


def _placement(random: Random, dims: int, kind: str) -> str:
    partial = [] if kind == "op_grad" else ["P(sum)"]
    return random.choice(
        [
            "R",
            *partial,
            *(f"S({dim})" for dim in range(dims)),
            *(f"S({dim})" for dim in range(dims)),
        ]
    )
