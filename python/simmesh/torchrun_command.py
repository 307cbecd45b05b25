"""The command ``simmesh torchrun``: torchrun's own options, with ranks in place of processes.

simmesh torchrun --nproc-per-node 4 --schedules 20 train.py --epochs 2
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

SUMMARY = (
    "runs a script as torchrun does, with every rank in one process; takes torchrun's options and "
    "those of python -m simmesh.torch, such as --schedules 20 and --isolate PACKAGE"
)


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, 1 where the program failed, or 2 where it
    could not run.
    """
    try:
        from torch.distributed.run import get_args_parser

        from simmesh.torch.__main__ import add_options, run_program
    except ImportError as error:
        return _refuse(f"[torchrun_command] expected PyTorch, got {error}")
    parser = get_args_parser()
    parser.prog, parser.description = "simmesh torchrun", SUMMARY
    add_options(parser)
    options = parser.parse_args(list(arguments))
    try:
        options.ranks_per_node = _per_node(options.nproc_per_node)
        options.ranks = _nodes(options.nnodes) * options.ranks_per_node
        _refuse_programs(options)
    except ValueError as error:
        return _refuse(str(error))
    options.script, options.arguments = options.training_script, options.training_script_args
    return run_program(options)


def _per_node(text: str) -> int:
    if text in ("cpu", "auto"):
        return os.cpu_count() or 1
    return _count("--nproc-per-node", text)


def _nodes(text: str) -> int:
    """The number of nodes; the most that a range names."""
    return _count("--nnodes", str(text).rpartition(":")[2])


def _count(name: str, text: str) -> int:
    if not str(text).isdigit() or int(text) < 1:
        raise ValueError(f"[torchrun_command] {name}: expected a number of at least 1, got {text}")
    return int(text)


def _refuse_programs(options: argparse.Namespace) -> None:
    if options.no_python:
        raise ValueError(
            "[torchrun_command] --no-python: expected a script of Python, whose ranks are threads, "
            f"got the program {options.training_script}"
        )


def _refuse(message: str) -> int:
    print(f"simmesh: {message}", file=sys.stderr)
    return 2
