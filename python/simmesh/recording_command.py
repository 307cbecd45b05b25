"""The command ``simmesh record``: records cases from the installed PyTorch, or one device's values
of a program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

SUMMARY = (
    "records cases from the installed PyTorch, for simmesh verify; or, for a program, one device's "
    "exact values, with which later runs are compared; last line: N recorded, or N passed, N failed"
)
# The most lines that are printed of one case, as in the reports of simmesh verify.
_SHOWN = 5


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, or 2 where it could not run."""
    own, given = _divided(list(arguments))
    options = _parser().parse_args(own)
    options.arguments = given
    try:
        if options.program is not None:
            return _run_program(options)
        if options.out is None or options.layout or options.quiet or options.json:
            raise ValueError(
                "[recording_command] expected --out FILE.jsonl, and no --layout, --quiet or "
                "--json, unless a program is named"
            )
    except (ValueError, OSError) as error:
        return _refuse(str(error))
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


def _divided(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The command's arguments, and those of the program behind "--"."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _run_program(options: argparse.Namespace) -> int:
    if (options.out is None) == (options.again is None):
        raise ValueError(
            "[recording_command] expected --out FILE to record a program, or --again FILE to "
            "compare it"
        )
    if options.out is not None and options.layout:
        raise ValueError("[recording_command] --layout: expected --again FILE beside it")
    try:
        from simmesh.one_device import command
    except ImportError as error:
        raise ValueError(f"[recording_command] expected PyTorch, got {error}") from None
    return command.run(options)


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
    parser.add_argument(
        "program",
        nargs="?",
        metavar="PROGRAM",
        help="a script, or train.py:function, which gets a mesh; its own arguments follow after --",
    )
    parser.add_argument("--out", metavar="FILE", help="file for the cases, or for the values")
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
        "differ; for a program, the values with which it is compared",
    )
    parser.add_argument(
        "--dims", default="dp", metavar="D[,D]", help="the dims of the mesh of one device"
    )
    parser.add_argument(
        "--layout", action="append", default=[], metavar="D=N[,D=N]",
        help="sizes of the mesh on which a program is compared; may be given again",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="of a program: only the last line")
    parser.add_argument("--json", action="store_true", help="of a program: one JSON object")
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
