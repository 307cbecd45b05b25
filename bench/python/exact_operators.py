"""How much does an operator cost in a rank with ``local="exact"``, over torch's own?

Prints a table: the class of the operator, the times in plain torch, in a mode that passes every
operator on to torch, and in the exact mode; what the exact mode adds to plain torch and its ratio
to what is asked; and what it adds to the mode that passes on. All are CPU times of one call in
microseconds, the least of several, on one thread, with elements [8, 8]; the three ways take turns.
"carried" operands have more behind their elements, as sums and products have; behind others nothing
stands. The last line is the floor of all modes: a mode that returns a ready result, without any
call of torch, and what it takes to enter it.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable

import lines
import torch
from timing import microseconds
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh.torch.exact.mode import exact_operators

ASKED = 2.0
TURNS = 2

Operators = dict[str, Callable[[], object]]


def operators() -> Operators:
    """The calls, by class. Their operands are made where this is called."""
    torch.manual_seed(0)
    a, b, out = torch.randn(8, 8), torch.randn(8, 8), torch.empty(8, 8)
    c, d = torch.randn(8, 8) @ b, a @ torch.randn(8, 8)
    weight = torch.nn.Parameter(torch.randn(8, 8))
    gradient = torch.randn(8, 8)
    row = torch.randn(8)
    return {
        "view: view": lambda: a.view(64),
        "view: transpose": a.t,
        "view: detach, carried": c.detach,
        "maker: empty_like": lambda: torch.empty_like(a),
        "safe: relu": lambda: torch.relu(a),
        "safe: eq": lambda: torch.eq(a, b),
        "safe: zero_": out.zero_,
        "function: exp": lambda: torch.exp(a),
        "movement: clone": a.clone,
        "movement: copy_": lambda: out.copy_(a),
        "movement: cat": lambda: torch.cat([a, b]),
        "movement: clone, carried": c.clone,
        "movement: copy_, carried": lambda: out.copy_(c),
        "movement: cat, carried": lambda: torch.cat([c, d]),
        "movement: clone of a transpose, carried": lambda: c.t().contiguous(),
        "linear: add": lambda: a + b,
        "linear: add, broadcast": lambda: a + row,
        "linear: add, carried": lambda: c + d,
        "linear: add_, carried": lambda: out.add_(c, alpha=0.0),
        "linear: mul": lambda: a * b,
        "linear: mul, carried": lambda: c * b,
        "linear: mul by a number": lambda: a * 2.5,
        "linear: mul by a number, carried": lambda: c * 2.5,
        "linear: div by a number, carried": lambda: c / 3.0,
        "sums: sum": a.sum,
        "sums: sum over a dim, carried": lambda: c.sum(0),
        "products: mm": lambda: a @ b,
        "products: mm, carried": lambda: c @ d,
        "products: mm of a transpose": lambda: a @ b.t(),
        "products: addmm": lambda: torch.addmm(row, a, b),
        "products: mm with gradients": lambda: a @ weight,
        "products: mm and its backward pass": lambda: torch.autograd.grad(
            a @ weight, weight, gradient
        ),
    }


class Passing(TorchDispatchMode):
    """Does nothing but to call torch."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


class Ready(Passing):
    """Calls nothing: each operator returns the same tensor."""

    def __init__(self, result: torch.Tensor) -> None:
        super().__init__()
        self._result = result

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return self._result


Way = Callable[[], Any]
WAYS: list[Way] = [contextlib.nullcontext, Passing, exact_operators]


def least_of(call: Callable[[], object], ways: list[Way]) -> list[float]:
    """The least time of a call in each way, in microseconds."""
    least = [float("inf")] * len(ways)
    for _ in range(TURNS):
        for at, way in enumerate(ways):
            with way():
                least[at] = min(least[at], microseconds(call))
    return least


def main() -> None:
    """Prints the table."""
    torch.set_num_threads(1)
    with exact_operators():
        calls = operators()
    lines.text(f"{'us per operator':40} {'plain':>7} {'passing':>7} {'exact':>7} {'over':>7} "
               f"{'/ asked':>7} {'over passing':>12}")  # fmt: skip
    for name, call in calls.items():
        plain, passing, ours = least_of(call, WAYS)
        over = ours - plain
        lines.text(f"{name:40} {plain:7.2f} {passing:7.2f} {ours:7.2f} {over:7.2f} "
                   f"{over / ASKED:7.2f} {ours - passing:12.2f}")  # fmt: skip
        lines.value(name, ours)
        lines.value(f"{name} peer", plain)
        lines.value(f"{name} over", over)
        lines.value(f"{name} over passing", ours - passing)
    a = torch.randn(8, 8)
    ready = functools.partial(Ready, torch.relu(a))
    (floor,) = least_of(lambda: torch.relu(a), [ready])
    lines.text(f"floor: {floor:.2f} us for a mode that returns a ready result; "
               f"asked {ASKED} over plain")  # fmt: skip
    lines.value("floor", floor)


if __name__ == "__main__":
    main()
