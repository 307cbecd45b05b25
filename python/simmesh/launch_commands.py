"""The commands ``simmesh accelerate launch`` and ``simmesh deepspeed``: the launchers' own options,
with ranks in place of processes.

simmesh accelerate launch --num_processes 4 --mixed_precision bf16 --schedules 20 train.py
simmesh deepspeed --num_gpus 4 train.py --deepspeed ds_config.json
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Callable

SUMMARIES = {
    "accelerate": "simmesh accelerate launch takes the options of accelerate launch and those of "
                  "python -m simmesh.torch",
    "deepspeed": "takes the options of the launcher of DeepSpeed and those of python -m "
                 "simmesh.torch",
}  # fmt: skip


def run(launcher: str, arguments: Sequence[str]) -> int:
    """Runs a launcher's command and returns its exit status: 0, 1 where the program failed, or 2
    where it could not run.
    """
    words = list(arguments)
    if launcher == "accelerate":
        if words[:1] != ["launch"]:
            return _refuse(f"[launch_commands] accelerate: expected launch, got {words[:1]}")
        del words[0]
    try:
        from simmesh.torch.__main__ import run_program

        options = _LAUNCHERS[launcher](words)
    except (ImportError, ValueError) as error:
        return _refuse(f"[launch_commands] {launcher}: {error}")
    prefix = ["simmesh", launcher, *arguments[: len(arguments) - len(words)]]
    options.reproduction = lambda schedule, seed: [
        *prefix, "--schedule", schedule, "--schedule-seed", str(seed), *words
    ]  # fmt: skip
    return run_program(options)


def _refuse(message: str) -> int:
    print(f"simmesh: {message}", file=sys.stderr)
    return 2


def _accelerate(words: list[str]) -> argparse.Namespace:
    from accelerate.commands import launch
    from accelerate.utils import launch as environments

    from simmesh.torch.__main__ import add_options

    parser = launch.launch_command_parser()
    parser.prog, parser.description = "simmesh accelerate launch", SUMMARIES["accelerate"]
    add_options(parser)
    options = parser.parse_args(words)
    _refuse_programs(options.no_python, options.training_script)
    named = options.num_processes
    options, *_ = launch._validate_launch_command(options)
    options.num_processes = named or options.num_processes or 1
    options.num_machines = options.num_machines or 1
    if options.use_deepspeed:
        variables = environments.prepare_deepspeed_cmd_env(options)[1]
    elif options.num_processes > 1:
        variables = environments.prepare_multi_gpu_env(options)
    else:
        variables = environments.prepare_simple_launcher_cmd_env(options)[1]
    options.variables = _changed(variables)
    options.variables["ACCELERATE_USE_CPU"] = str(options.device == "cpu").lower()
    options.ranks = options.num_processes
    options.ranks_per_node = -(-options.ranks // options.num_machines)
    options.script, options.arguments = options.training_script, options.training_script_args
    return options


def _deepspeed(words: list[str]) -> argparse.Namespace:
    from deepspeed.launcher import runner

    options = _parsed_by(runner, words)
    _refuse_programs(options.no_python, options.user_script)
    nodes = max(1, options.num_nodes)
    options.ranks_per_node = options.num_gpus if options.num_gpus > 0 else os.cpu_count() or 1
    options.ranks = nodes * options.ranks_per_node
    per_node, has_number = options.ranks_per_node, not options.no_local_rank
    options.variables = {"CROSS_SIZE": str(nodes)}
    options.arguments_of = lambda rank: [f"--local_rank={rank % per_node}"] * has_number
    options.script, options.arguments = options.user_script, options.user_args
    return options


def _parsed_by(runner: Any, words: list[str]) -> argparse.Namespace:
    """The options of DeepSpeed's launcher, whose parser is in a function, and those of ranks."""
    from simmesh.torch.__main__ import add_options

    class Parser(argparse.ArgumentParser):
        def parse_args(self, *arguments: Any, **options: Any) -> Any:
            self.prog, self.description = "simmesh deepspeed", SUMMARIES["deepspeed"]
            add_options(self)
            return super().parse_args(*arguments, **options)

    of_python = runner.argparse
    runner.argparse = SimpleNamespace(**{**vars(argparse), "ArgumentParser": Parser})
    try:
        found: argparse.Namespace = runner.parse_args(words)
    finally:
        runner.argparse = of_python
    return found


def _changed(variables: dict[str, str]) -> dict[str, str]:
    """The variables that a launcher sets, without those that are the machine's."""
    return {
        name: value for name, value in variables.items() if os.environ.get(name) != value
    }  # fmt: skip


def _refuse_programs(no_python: bool, program: str) -> None:
    if no_python:
        raise ValueError(
            "--no_python: expected a script of Python, whose ranks are threads, got the program "
            f"{program}"
        )


_LAUNCHERS: dict[str, Callable[[list[str]], argparse.Namespace]] = {
    "accelerate": _accelerate,
    "deepspeed": _deepspeed,
}
