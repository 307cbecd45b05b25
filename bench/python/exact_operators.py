"""How much does an operator cost in a rank with ``local="exact"``, over torch's own?

Prints a table: the class of the operator, the times in the mode and in plain torch, what the mode
adds, and what is asked. All are CPU times of one call in microseconds, the least of several, on one
thread, with elements [8, 8]. "carried" operands have more behind their elements, as sums and
products have; behind others nothing stands.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

from typing import Callable

import lines
import torch
from timing import microseconds

from simmesh.torch import exact

ASKED = 2.0

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


def times() -> dict[str, float]:
    """The time of each call, in microseconds."""
    return {name: microseconds(call) for name, call in operators().items()}


def main() -> None:
    """Prints the table."""
    torch.set_num_threads(1)
    ours, plain = exact.one_device(times), times()
    lines.text(f"{'us per operator':42} {'exact':>8} {'plain':>8} {'over':>8} {'asked':>8}")
    for name in ours:
        over = ours[name] - plain[name]
        lines.text(f"{name:42} {ours[name]:8.2f} {plain[name]:8.2f} {over:8.2f} {ASKED:8.1f}")
        lines.value(name, ours[name])
        lines.value(f"{name} peer", plain[name])
        lines.value(f"{name} over", over)


if __name__ == "__main__":
    main()
