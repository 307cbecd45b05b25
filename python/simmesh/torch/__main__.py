"""The command ``python -m simmesh.torch --ranks 4 train.py ...``: torchrun without processes."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from simmesh.exploration import Exploration, Trial, explore
from simmesh.torch import Schedule, run, schedules_to_try
from simmesh.torch.script import program_of


def main(arguments: list[str] | None = None) -> int:
    """Runs the script that the arguments name, and returns the command's exit status."""
    options = _parser().parse_args(arguments)
    if options.schedule is None:
        schedules = list(schedules_to_try(options.schedules))
    else:
        schedules = [Schedule("fifo"), Schedule(options.schedule, options.schedule_seed)]
    runs = 0

    def trial(schedule: Any) -> Trial:
        nonlocal runs
        runs += 1
        program = program_of(options.script, options.arguments, is_quiet=runs > 1)
        ran = run(
            program, options.ranks, schedule=schedule, seed=options.seed,
            arithmetic=options.arithmetic, timeout=options.timeout,
        )  # fmt: skip
        return Trial(schedule, ran.outcome, ran.results)

    sys.path.insert(0, str(options.script.parent))
    try:
        found = explore(trial, schedules, shrinkable=lambda each: options.schedule is None)
    except (OSError, SyntaxError, ValueError) as error:
        print(f"simmesh.torch: {error}", file=sys.stderr)
        return 2
    finally:
        sys.path.remove(str(options.script.parent))
    if found.failure is not None:
        _report(found, options)
        return 1
    print(f"{found.schedules} schedules, data hash {found.first.outcome.data_hash:016x}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m simmesh.torch", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="how many ranks run the script")
    parser.add_argument("--schedules", type=int, default=1, help="how many schedules to run under")
    parser.add_argument("--schedule", help="one schedule to compare with first come first served")
    parser.add_argument("--schedule-seed", type=int, default=0, help="the seed of that schedule")
    parser.add_argument("--arithmetic", default="exact", help="how sums are added up")
    parser.add_argument("--seed", type=int, default=0, help="added to the generators' seeds")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a rank keeps the turn")
    parser.add_argument("script", type=Path, help="the script of every rank")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return parser


def _report(found: Exploration, options: argparse.Namespace) -> None:
    failure = found.failure
    assert failure is not None
    if found.differs:
        print(
            f"[torch/script] expected equal bits under every schedule, got data hash "
            f"{failure.outcome.data_hash:016x} after {found.first.outcome.data_hash:016x}",
            file=sys.stderr,
        )
    else:
        lines = failure.outcome.report.rstrip("\n").split("\n")
        kept = [line for line in lines if not line.startswith("reproduce:")]
        print("\n".join(kept), file=sys.stderr)
    text, seed = (
        failure.schedule if isinstance(failure.schedule, Schedule) else (failure.schedule, 0)
    )
    words = ["python", "-m", "simmesh.torch", "--ranks", str(options.ranks), "--schedule", text,
             "--schedule-seed", str(seed), "--arithmetic", options.arithmetic,
             "--seed", str(options.seed), str(options.script), *options.arguments]  # fmt: skip
    print(f"reproduce: {shlex.join(words)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
