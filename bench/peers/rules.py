"""Which wrong sharding rules does a check find, and in which time: ours, and spmd_types.rulecheck?

    rules.py [--verbose] [--json]

Judges the functions of tests/python/rule_functions.py, each with the rule that holds and the wrong
one, by simmesh.rulecheck and by rulecheck of spmd_types. There a rule is a hook on a
torch.autograd.Function, and sizes are even on two ranks. Prints one table: how many of the right
and of the wrong rules hold for each check, how many it refutes, how many make the function raise,
how many its types can't say, and the processor's time. With --verbose a line for each rule comes
first. One of the right rules is of dropout, which isn't a function of its inputs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import simmesh
from simmesh.rules.forms import read
from simmesh.rules.pieces import repeated
from simmesh.rules.rule import Row, RulePlacement
from simmesh.rules.sizes import RuleInput

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from rule_functions import JUDGED, Judged

# Sizes that two ranks divide, one for each letter.
EVEN = (4, 6, 8, 10)
UNSAID = "can't be said"
VERDICTS = ("holds", "refuted", "raises", UNSAID)


def ours(judged: Judged, rule: str) -> str:
    """The verdict of simmesh.rulecheck."""
    check = simmesh.rulecheck(judged.function, rule, judged.inputs, unclaimed=False)
    return "holds" if check.holds else "refuted"


def _tensor(given: RuleInput, sizes: dict[str, int]) -> torch.Tensor:
    shape = given.shape(sizes)
    generator = torch.Generator().manual_seed(0)
    if given.values is None:
        return torch.randn(shape, generator=generator)
    return repeated(given.values, shape)


def _type(placement: RulePlacement) -> Any:
    """The type of spmd_types; None for a placement that it has no type for."""
    import spmd_types

    if placement.kind == "replicate":
        return spmd_types.R
    if placement.kind == "shard":
        return spmd_types.S(placement.dim)
    if placement.kind == "partial" and placement.reduction == "sum":
        return spmd_types.P
    return None


def _hooked(function: Callable[..., Any], row: Row, names: Sequence[str]) -> Any:
    """A torch.autograd.Function with a hook that types the outputs as the row says."""
    import spmd_types

    types = [_type(placement) for placement in row.outputs]
    space: dict[str, Any] = {
        "function": function,
        "types": types,
        "assert_type": spmd_types.assert_type,
    }
    listed = ", ".join(names)
    exec(
        f"def forward(ctx, {listed}):\n    return function({listed})\n"
        f"def hook(outputs, *, {listed}):\n"
        "    from spmd_types import rules\n"
        f"    rules.ignore({listed})\n"
        "    found = outputs if isinstance(outputs, (tuple, list)) else [outputs]\n"
        "    for output, kind in zip(found, types):\n"
        "        assert_type(output, {'tp': kind})\n",
        space,
    )
    return type(
        "Hooked",
        (torch.autograd.Function,),
        {
            "forward": staticmethod(space["forward"]),
            "backward": staticmethod(lambda ctx, *grads: grads),
            "spmd_typecheck": staticmethod(space["hook"]),
        },
    )


def peers(judged: Judged, rule: str) -> str:
    """The verdict of spmd_types.rulecheck on two ranks."""
    from spmd_types.rulecheck import RuleCheckError, rulecheck
    from spmd_types.runtime import register_autograd_function

    taken = read(judged.function, rule, judged.inputs)
    given = taken.inputs
    letters = dict.fromkeys(dim for each in given for dim in each.dims if isinstance(dim, str))
    sizes = dict(zip(letters, EVEN))
    row = taken.rule.rows[0]
    if any(_type(placement) is None for placement in (*row.inputs, *row.outputs)):
        return UNSAID
    names = [f"x{at}" for at in range(len(given))]
    tensors = [_tensor(each, sizes) for each in given]
    placements = {name: {"tp": _type(at)} for name, at in zip(names, row.inputs)}
    hooked = register_autograd_function(_hooked(judged.function, row, names))
    try:
        rulecheck(hooked, tensors, placements, mesh={"tp": 2})
    except RuleCheckError:
        return "refuted"
    except Exception as error:  # the function raises on pieces
        return f"raises: {type(error).__name__}: {str(error).splitlines()[0][:60]}"
    return "holds"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json", action="store_true", help="print lines of JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    checks = {
        f"simmesh {simmesh.__version__}": ours,
        f"spmd_types {version('spmd_types')}": peers,
    }
    head = f"PyTorch {torch.__version__}, {len(JUDGED)} functions, each right and wrong"
    verdicts = [(kind, verdict) for kind in ("right", "wrong") for verdict in VERDICTS]
    titles = [f"{kind}: {verdict}" for kind, verdict in verdicts]
    if not options.json:
        print(head, f"{'check':18}  {'  '.join(titles)}  seconds", sep="\n")
    for name, check in checks.items():
        counts: Counter[tuple[str, str]] = Counter()
        begin = time.process_time()
        for judged in JUDGED:
            for kind, rule in (("right", judged.right), ("wrong", judged.wrong)):
                verdict, _, detail = check(judged, rule).partition(": ")
                counts[kind, verdict] += 1
                if options.verbose:
                    print(f"  {name} {judged.name} {kind} {rule}: {verdict} {detail}")
        seconds = time.process_time() - begin
        cells = [f"{counts[pair]:{len(title)}}" for pair, title in zip(verdicts, titles)]
        if options.json:
            print(json.dumps({"name": f"{name.split()[0]} seconds", "value": seconds}), flush=True)
        else:
            print(f"{name:18}  {'  '.join(cells)}  {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()
