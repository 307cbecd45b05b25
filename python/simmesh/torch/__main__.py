"""The command ``python -m simmesh.torch --ranks 4 train.py ...``: torchrun without processes. With
``-m`` it runs a module, as Python does.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from simmesh import _core
from simmesh.exploration import Exploration, Trial, explore, explore_all
from simmesh.findings import Findings, add_option
from simmesh.spmd import SEATS
from simmesh.termination import end_children_on_sigterm
from simmesh.torch import Run, Schedule, run, schedules_to_try, torchrun_environment
from simmesh.torch.failure_text import failure_text, notes
from simmesh.torch.schedules import FIFO
from simmesh.torch.script import program_of, read_module, read_script
from simmesh.torch.spawned import SpawnedRun, spawns_ranks


def main(arguments: list[str] | None = None) -> int:
    """Runs the script that the arguments name, and returns the command's exit status."""
    return run_program(parser().parse_args(arguments))


def run_program(options: argparse.Namespace) -> int:
    """Runs what the options name, and returns the command's exit status."""
    folder = os.getcwd() if options.module else str(Path(options.script).parent)
    sys.path.insert(0, folder)
    try:
        findings = Findings(options.findings)
        schedules = _schedules(options)
        trials = _Trials(options)
        found = _explore(options, trials, schedules)
    except (OSError, SyntaxError, ValueError) as error:
        print(f"simmesh.torch: {error}", file=sys.stderr)
        return 2
    finally:
        sys.path.remove(folder)
    if found.failure is not None:
        lines = _report(found, options, trials.isolated)
        print(*lines, sep="\n", file=sys.stderr)
        findings.failed(options.script, "ranks", "\n".join(lines), "torch/script")
        findings.write()
        return 1
    findings.passed(options.script, "ranks")
    findings.write()
    if not trials.made_groups:
        print(
            "simmesh.torch: warning: no rank made a process group, so no collective was seen or "
            "checked",
            file=sys.stderr,
        )
    for line in notes(None, trials.isolated):
        print(line, file=sys.stderr)
    print(f"{found.text()}, data hash {found.first.outcome.data_hash:016x}")
    if found.looks_for_all and not found.complete:
        print(
            f"simmesh.torch: --classes-max: {options.classes_max} classes were run, and more are "
            "left",
            file=sys.stderr,
        )
        return 1
    return 0


def _explore(
    options: argparse.Namespace, trials: _Trials, schedules: list[Schedule]
) -> Exploration:
    def shrinkable(trial: Trial) -> bool:
        return options.schedule is None and trial.outcome.kind not in ("blocked", "interrupt")

    if options.explore is not None and options.schedule is None:
        if trials.spawns:
            raise ValueError(
                "--explore: expected a script that runs on every rank, got one that starts its "
                "ranks itself; --schedules runs some schedules of it"
            )
        others = list(schedules_to_try(40))
        return explore_all(trials.run, options.classes_max, shrinkable=shrinkable, schedules=others)
    takes_certificate = (
        options.certificate
        and options.schedule is None
        and len(schedules) > 1
        and not trials.spawns
    )
    return explore(
        trials.run,
        schedules,
        shrinkable=shrinkable,
        certificate=takes_certificate,
        jobs=options.jobs,
    )


def _schedules(options: argparse.Namespace) -> list[Schedule]:
    """The schedules to run under. Raises ValueError for a number below 1."""
    if options.schedule is not None:
        return [Schedule("fifo"), Schedule(options.schedule, options.schedule_seed)]
    for name in ("schedules", "jobs", "classes_max"):
        if getattr(options, name) < 1:
            word = name.replace("_", "-")
            raise ValueError(
                f"--{word}: expected a number of at least 1, got {getattr(options, name)}"
            )
    return list(schedules_to_try(options.schedules))


class _Trials:
    """Runs the script, on every rank or on the host where it spawns its ranks itself. Only the
    first run prints.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._runs = 0
        is_module = options.module
        script = options.script
        self._program = read_module(script) if is_module else read_script(Path(script))
        self.spawns = not is_module and spawns_ranks(self._program.path.read_bytes())
        self.made_groups = False
        self.isolated: tuple[str, ...] = ()

    def run(
        self, schedule: Any, watch: str | None = None, search: _core.Search | None = None
    ) -> Trial:
        """Runs the script once. Raises OSError or SyntaxError where it can't be read."""
        self._runs += 1
        is_quiet = self._runs > 1
        if not self.spawns:
            options = self._options
            more = {"arguments_of": options.arguments_of} if "arguments_of" in options else {}
            program = program_of(self._program, options.arguments, is_quiet, **more)
            ran = self._run_ranks(
                schedule or FIFO, program, options.ranks, watch=watch, search=search
            )
            return Trial(schedule, ran.outcome, ran.results, unwatched=ran.unwatched)
        return self._run_host(schedule, is_quiet)

    def _run_host(self, schedule: Any, is_quiet: bool) -> Trial:
        script = SpawnedRun(
            self._program,
            self._options.arguments,
            lambda body, ranks, isolate: self._run_ranks(
                schedule,
                body,
                ranks,
                environment=lambda _: {},
                isolate=[*self._options.isolate, *isolate],
            ),
            is_quiet,
        )
        try:
            with self._node():
                script.execute()
        except Exception:
            if all(ran.outcome.ok for ran in script.runs):  # a failed run has it
                raise
        if not script.runs:
            raise ValueError(
                f"{self._options.script}: expected a script that calls "
                "torch.multiprocessing.spawn or starts a Process, got one that ended without it"
            )
        # A script with several runs is judged by the first that fails, else by the last.
        ran = next((each for each in script.runs if not each.outcome.ok), script.runs[-1])
        return Trial(schedule, ran.outcome, ran.results)

    def _node(self) -> AbstractContextManager[None]:
        """The devices that the script sees while it runs on the host."""
        options = self._options
        if options.device != "cuda":
            return nullcontext()
        from simmesh.torch.cuda import host

        return host.node_of(options.ranks_per_node or options.ranks)

    def _run_ranks(self, schedule: Any, body: Any, ranks: int, **more: Any) -> Run:
        options = self._options
        text = schedule if isinstance(schedule, str) else schedule.text
        if text.startswith("choices:split:"):
            more["watch"] = "asks"  # its steps are those of an exploration
        per_node = options.ranks_per_node or ranks
        own = options.variables if "variables" in options else {}
        more.setdefault(
            "environment", lambda rank: {**torchrun_environment(rank, ranks, per_node), **own}
        )
        ran = run(
            body, ranks, schedule=schedule, seed=options.seed, arithmetic=options.arithmetic,
            isolate=more.pop("isolate", options.isolate), timeout=options.timeout,
            local=options.local, allow_strided=options.allow_strided,
            check_accesses=not options.no_check_accesses, device=options.device,
            seats=options.seats, run_ahead=not options.no_run_ahead,
            reproduce=_command(options, schedule), **more,
        )  # fmt: skip
        self.made_groups |= ran.made_groups
        self.isolated = ran.isolated
        return ran


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    parser = argparse.ArgumentParser(prog="python -m simmesh.torch", description=__doc__)
    parser.add_argument(
        "--ranks",
        type=int,
        default=4,
        help="how many ranks run the script; one that spawns its ranks says it itself, and sees as "
        "many devices of CUDA",
    )
    parser.add_argument("--ranks-per-node", type=int,
                        help="how many ranks share a node, as LOCAL_RANK counts them")  # fmt: skip
    add_options(parser)
    parser.add_argument("-m", "--module", action="store_true",
                        help="the script is the name of a module, as for python -m")  # fmt: skip
    parser.add_argument("script", help="the script of every rank")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of runs, which torchrun doesn't have."""
    parser.add_argument("--schedules", type=int, default=1, help="how many schedules to run under")
    parser.add_argument("--explore", choices=("all",),
                        help="run one schedule of each class of equivalent ones")  # fmt: skip
    parser.add_argument("--classes-max", type=int, default=10_000,
                        help="the most classes that --explore runs")  # fmt: skip
    parser.add_argument("--no-certificate", dest="certificate", action="store_false",
                        help="run all schedules also where one run stands for all")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1,
                        help="how many processes run the schedules")  # fmt: skip
    parser.add_argument("--schedule", help="one schedule to compare with first come first served")
    parser.add_argument("--schedule-seed", type=int, default=0, help="the seed of that schedule")
    parser.add_argument("--arithmetic", default="exact", help="how sums are added up")
    parser.add_argument("--seed", type=int, default=0, help="added to the generators' seeds")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a rank keeps the turn")
    parser.add_argument("--allow-strided", action="store_true",
                        help="let tensors with gaps into collectives")  # fmt: skip
    parser.add_argument("--local", choices=("plain", "exact"), default="plain",
                        help="how the operators of ranks are computed")  # fmt: skip
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="cuda: the names of CUDA lead to the CPU")  # fmt: skip
    parser.add_argument("--seats", choices=SEATS, default="threads",
                        help="ranks are threads of this process, or processes")  # fmt: skip
    parser.add_argument("--no-run-ahead", action="store_true",
                        help="let processes compute one at a time")  # fmt: skip
    parser.add_argument("--no-check-accesses", action="store_true",
                        help="let exact ranks use buffers of operations under way")  # fmt: skip
    parser.add_argument("--isolate", action="append", default=[], metavar="PACKAGE",
                        help="give each rank its own state of a package")  # fmt: skip
    add_option(parser)


def _report(found: Exploration, options: argparse.Namespace, isolated: Sequence[str]) -> list[str]:
    failure = found.failure
    assert failure is not None
    if found.differs:
        lines = [
            f"[torch/script] expected equal bits under every schedule, got data hash "
            f"{failure.outcome.data_hash:016x} after {found.first.outcome.data_hash:016x}"
        ]
    else:
        report = failure.outcome.report.rstrip("\n").split("\n")
        lines = [line for line in report if not line.startswith("reproduce:")]
    error = failure.outcome.exception
    if error is not None:
        lines.append(failure_text(error))
    lines += notes(error, isolated)
    return [*lines, f"reproduce: {_command(options, failure.schedule)}"]


def _command(options: argparse.Namespace, schedule: Any) -> str:
    """The command that runs the script under a schedule."""
    text, seed = schedule if isinstance(schedule, Schedule) else (schedule, 0)
    if "reproduction" in options:
        return shlex.join(options.reproduction(text, seed))
    words = ["python", "-m", "simmesh.torch", "--ranks", str(options.ranks), "--schedule", text,
             "--schedule-seed", str(seed), "--arithmetic", options.arithmetic,
             "--seed", str(options.seed), *["--allow-strided"] * options.allow_strided,
             *["--local", "exact"] * (options.local == "exact"),
             *["--device", "cuda"] * (options.device == "cuda"),
             *["--seats", "processes"] * (options.seats == "processes"),
             *["--no-run-ahead"] * options.no_run_ahead,
             *["--no-check-accesses"] * options.no_check_accesses,
             *(word for name in options.isolate for word in ("--isolate", name)),
             *(["--ranks-per-node", str(per_node)] if (per_node := options.ranks_per_node) else []),
             *["-m"] * options.module, options.script, *options.arguments]  # fmt: skip
    return shlex.join(words)


if __name__ == "__main__":
    end_children_on_sigterm()
    sys.exit(main())
