"""``simmesh record PROGRAM``: writes one device's values of a program, or compares with them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from simmesh.one_device.comparison import (
    DiffersFromOneDevice,
    LimitOfExactArithmetic,
    record_one_device,
    same_as_one_device,
)
from simmesh.one_device.script import program_named


def run(options: argparse.Namespace) -> int:
    """Records a program, or compares it with what was recorded. Returns the exit status: 0, or 1
    where the program fails or differs. Raises ValueError or OSError where it can't run.
    """
    program = program_named(options.program, options.arguments)
    chosen = {"schedule": options.schedule, "seed": options.seed, "timeout": options.timeout}
    try:
        if options.again is None:
            return _record(program, options, chosen)
        return _compare(program, options, chosen)
    except Exception as error:
        # The report of a program that fails is a note of its error.
        notes = getattr(error, "__notes__", [])
        if not notes and isinstance(error, (ValueError, OSError)):
            raise
        print(*(notes or [f"{type(error).__name__}: {error}"]), sep="\n", file=sys.stderr)
        return 1


def _record(program: Any, options: argparse.Namespace, chosen: dict[str, Any]) -> int:
    path = Path(options.out)
    part = path.with_name(f".{path.name}.part")
    try:
        count = record_one_device(program, part, dims=options.dims.split(","), **chosen)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    _print(options, [f"source: {_source()}"], {"source": _source(), "recorded": count},
           f"{count} recorded")  # fmt: skip
    return 0


def _compare(program: Any, options: argparse.Namespace, chosen: dict[str, Any]) -> int:
    from simmesh.one_device.recorded import source_of

    lines = [f"recorded by: {source_of(options.again)}", f"source: {_source()}"]
    layouts = [_layout(each) for each in options.layout]
    found = []
    for layout in layouts or [dict.fromkeys(options.dims.split(","), 1)]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LimitOfExactArithmetic)
                comparison = same_as_one_device(
                    program, layouts=[layout], recorded=options.again, **chosen
                )
        except DiffersFromOneDevice as error:
            comparison = error.comparison
        name = ",".join(f"{dim}={size}" for dim, size in layout.items())
        fits = not comparison.has_faults
        compared = comparison.verdicts[0].compared
        found.append({"layout": name, "passed": fits, "compared": compared,
                      "report": comparison.text})  # fmt: skip
        lines.append(f"{'pass' if fits else 'FAIL'} {name}: {compared} values")
        lines += [] if comparison.equal else [comparison.text]
    failed = sum(not each["passed"] for each in found)
    total = {"passed": len(found) - failed, "failed": failed}
    _print(
        options, lines, {"layouts": found, **total}, f"{total['passed']} passed, {failed} failed"
    )
    return 1 if failed else 0


def _print(options: argparse.Namespace, lines: list[str], content: Any, last: str) -> None:
    if options.json:
        print(json.dumps(content))
        return
    if not options.quiet:
        print(*lines, sep="\n")
    print(last)


def _layout(text: str) -> dict[str, int]:
    """The layout of "dp=2,tp=2"."""
    pairs = [each.partition("=") for each in text.split(",")]
    if not all(name and size.isdigit() and int(size) > 0 for name, _, size in pairs):
        raise ValueError(
            "[one_device/command] --layout: expected dims and sizes such as dp=2,tp=2, got "
            f"{text!r}"
        )
    return {name: int(size) for name, _, size in pairs}


def _source() -> str:
    import torch

    from simmesh import _core

    return f"PyTorch {torch.__version__}, simmesh {_core.version}"
