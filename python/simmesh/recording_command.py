"""The command ``simmesh record``: records cases from the installed PyTorch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

SUMMARY = "records cases from the installed PyTorch, for simmesh verify; last line: N recorded"
# The most lines that are printed of one case, as in the reports of simmesh verify.
_SHOWN = 5


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, or 2 where it could not run."""
    options = _parser().parse_args(arguments)
    try:
        from simmesh import recording
    except ImportError as error:
        return _refuse(f"[recording_command] expected PyTorch and numpy, got {error}")
    settings = recording.Settings(
        schedule=options.schedule, arithmetic=options.arithmetic, timeout=options.timeout
    )
    try:
        kinds = options.kind.split(",") if options.kind else []
        if options.again is not None:
            found = recording.again(options.again, kinds=kinds, out=options.out, settings=settings)
        else:
            found = recording.random_cases(
                kinds or list(recording.FAMILIES),
                seeds=range(options.seed, options.seed + options.count),
                mesh=_mesh(options.mesh),
                out=options.out,
                settings=settings,
            )
    except (ValueError, OSError) as error:
        return _refuse(str(error))
    print(f"source: {recording.source()}")
    if options.again is None:
        print(f"{len(found)} recorded")
    else:
        differing = _print_differences(options.again, found)
        print(f"{len(found)} recorded, {differing} differ from {options.again}")
    return 0


def _print_differences(path: str, found: Sequence[dict[str, Any]]) -> int:
    from simmesh import recording

    earlier = {(case["kind"], case["id"]): case for case in recording.cases.read(path)}
    differing = 0
    for case in found:
        lines = recording.differences(earlier[case["kind"], case["id"]], case)
        differing += 1 if lines else 0
        for line in lines[:_SHOWN]:
            print(f"differs: {case['id']}: {line}")
        if len(lines) > _SHOWN:
            print(f"differs: {case['id']}: and {len(lines) - _SHOWN} more")
    return differing


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simmesh record", description=SUMMARY)
    parser.add_argument("--out", required=True, metavar="FILE.jsonl", help="file for the cases")
    parser.add_argument(
        "--kind",
        default="",
        metavar="K[,K]",
        help="kinds: local_shape, redistribute, op, op_grad (dtensor: these four), fsdp_events, "
        "fsdp_layout, "
        "train_exact (fsdp: these three), train, in_place; all unless given",
    )
    parser.add_argument(
        "--again",
        metavar="FILE.jsonl",
        help="asks what the cases of this file ask, not random cases, and prints which answers "
        "differ",
    )
    parser.add_argument(
        "--mesh",
        default="2x2",
        help="sizes of the mesh of random cases, such as 4 or 2x2 (default)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the first random case of each kind (default: 0)",
    )
    parser.add_argument(
        "--count", type=int, default=20, help="number of random cases of each kind (default: 20)"
    )
    parser.add_argument(
        "--schedule",
        default="fifo",
        help="which rank runs next: fifo, seeded:7, pct:3; changes no case",
    )
    parser.add_argument(
        "--arithmetic",
        default="canonical",
        help="how sums add up: canonical, rank_order, exact, ...",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, help="seconds for which a rank may keep its turn"
    )
    return parser


def _mesh(text: str) -> list[int]:
    sizes = text.split("x")
    if not all(size.isdigit() and int(size) > 0 for size in sizes):
        raise ValueError(f"[recording_command] --mesh: expected sizes such as 2x4, got {text!r}")
    return [int(size) for size in sizes]


def _refuse(message: str) -> int:
    print(f"simmesh: {message}", file=sys.stderr)
    return 2
