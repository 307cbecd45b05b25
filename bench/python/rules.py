"""How many combinations of a sharding rule are judged in a second?

Prints for small functions the combinations a second of processor time, by exact arithmetic and on
whole numbers, beside the 1,000 that are asked for, with the time of the function alone.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lines
import torch
from torch.nn import functional

import simmesh

ASKED = 1000

FUNCTIONS: tuple[tuple[str, Callable[..., Any], str, list[str]], ...] = (
    ("matmul", torch.matmul, "S(1), S(0) -> P", ["mk", "kn"]),
    ("add", torch.add, "S(0), S(0) -> S(0)", ["mn", "mn"]),
    ("gelu", functional.gelu, "S(0) -> S(0)", ["mn"]),
    ("softmax", lambda x: x.softmax(1), "S(0) -> S(0)", ["mn"]),
    ("sum", lambda x: x.sum(0), "S(0) -> P", ["mn"]),
)


def judged_per_second(
    function: Callable[..., Any], rule: str, inputs: list[str], values: str
) -> float:
    """The combinations a second, from runs of at least half a second of processor time. The first
    run, which also loads what the judge needs, doesn't count.
    """
    simmesh.rulecheck(function, rule, inputs, values=values, unclaimed=False)
    trials, begin = 0, time.process_time()
    while time.process_time() - begin < 0.5:
        check = simmesh.rulecheck(function, rule, inputs, values=values, unclaimed=False)
        assert check.holds, check.text
        trials += check.trials
    return trials / (time.process_time() - begin)


def main() -> None:
    """Prints the table."""
    torch.set_num_threads(1)
    lines.text(f"{'function':10} {'values':7} {'a second':>10} {'of asked':>9}")
    for name, function, rule, inputs in FUNCTIONS:
        for values in ("any", "whole"):
            found = judged_per_second(function, rule, inputs, values)
            lines.text(f"{name:10} {values:7} {found:10.0f} {found / ASKED:9.2f}")
            lines.value(f"{name} {values}", found)


if __name__ == "__main__":
    main()
