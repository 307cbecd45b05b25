"""Do the museum's checks find anything in right programs that nobody has looked at?

    museum_noise.py [--count N] [--first SEED] [--jobs N] [--results FILE] [--again]

Draws programs of tests/python/swarm_programs.py, each by a seed: a model, a layout of 2 to 4
ranks, a wrapper, an optimizer, a loss, and a schedule of the ranks. Each is a right program, and
runs under same_as_one_device. Every fourth also runs under spmd with several schedules, and under
same_on_replicas unless its ranks have experts or statistics of their own. Prints what each check
found, and the last lines of all findings. Where the bits differ by a limit of exact arithmetic that
the program is drawn with, the report that says so is no finding. Results are kept in a file by the
versions and the program's text, so that a run that was ended goes on; --again runs the programs
that had a finding.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import itertools
import json
import multiprocessing
import random
import sys
import tempfile
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import simmesh
from simmesh.museum.checks import Replicas

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "python"))

from swarm_choices import STATISTICS
from swarm_programs import Program, program_of

CHECKS = ("same_as_one_device", "same_on_replicas", "spmd")
SCHEDULES = 4  # of spmd, unless the first proves all; the others have one that is drawn
OTHERS = 4  # of so many programs one runs under the other checks, too
FIRST, COUNT = 2000, 1000
RESULTS = Path("build/museum_noise.jsonl")
_IMPORTED = (
    "torch._dynamo", "torch.distributed.fsdp", "torch.distributed.tensor.parallel",
    "torch.utils.checkpoint",
)  # fmt: skip
_LINES = 20  # of a finding
_OF_A_PROCESS = 25  # programs, so that one that ends its process costs no other


@dataclass(frozen=True)
class Verdict:
    """The findings in a program by the checks that it was run under, "" for none. ``limited`` says
    that the program has other bits than on one device by a limit that it is drawn with.
    """

    seed: int
    found: dict[str, str]
    limited: bool = False


class Verdicts:
    """The verdicts in a file of JSON lines; the last of a program counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                kept = json.loads(line)
                self._lines[kept["program"]] = kept

    def get(self, program: Program) -> Verdict | None:
        """The verdict on a program; None if there is none yet."""
        kept = self._lines.get(_key(program))
        return None if kept is None else Verdict(program.seed, kept["found"], kept["limited"])

    def forget(self, programs: Sequence[Program]) -> None:
        """Drops the verdicts on programs."""
        for each in programs:
            self._lines.pop(_key(each), None)
        if self.path.exists():
            lines = [json.dumps(kept) + "\n" for kept in self._lines.values()]
            self.path.write_text("".join(lines), encoding="utf-8")

    def put(self, program: Program, verdict: Verdict) -> None:
        """Keeps a verdict."""
        self._lines[_key(program)] = kept = {
            "program": _key(program),
            "found": verdict.found,
            "limited": verdict.limited,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept) + "\n")


def versions() -> str:
    """The versions for which verdicts hold."""
    return f"simmesh {simmesh.__version__}, PyTorch {torch.__version__}"


def _key(program: Program) -> str:
    digest = hashlib.sha256(program.text.encode()).hexdigest()[:16]
    return f"{program.seed} {digest}, {versions()}"


def drawn(first: int) -> Iterator[Program]:
    """The right programs from a seed on."""
    return (each for each in map(program_of, itertools.count(first)) if not each.fault)


def judge(program: Program, folder: Path) -> Verdict:
    """Runs a program under all checks."""
    function = _function_of(program, folder)
    draw = random.Random(f"schedule of {program.seed}")
    number = draw.randrange(1_000_000)
    schedule = draw.choice(["fifo", f"seeded:{number}", f"seeded:{number}", "pct:2", "pct:3"])
    options = {"schedule": schedule, "schedule_seed": number}
    found = {}
    found["same_as_one_device"], limited = _as_one_device(program, function, options)
    if program.seed % OTHERS == 1:
        if "ep" not in program.layout and program.must != STATISTICS:
            replicas = Replicas(layout=program.layout, options=options)
            found["same_on_replicas"] = replicas.find(function) or ""
        found["spmd"] = _under_schedules(program, function)
    return Verdict(program.seed, found, limited)


def _function_of(program: Program, folder: Path) -> Callable[..., Any]:
    file = folder / f"program_{program.seed}.py"
    file.write_text(program.text, encoding="utf-8")
    space: dict[str, Any] = {"__name__": file.stem}
    exec(compile(program.text, str(file), "exec"), space)
    function: Callable[..., Any] = space["program"]
    return function


def _as_one_device(
    program: Program, function: Callable[..., Any], options: dict[str, Any]
) -> tuple[str, bool]:
    """The finding, and True if a limit explains all differences."""
    limits = [each for each in (program.must, *program.may) if each]
    try:
        comparison = simmesh.same_as_one_device(function, layouts=[program.layout], **options)
    except Exception:  # whatever is raised of a right program is noise
        return traceback.format_exc(), False
    if comparison.equal or any(each in comparison.text for each in limits):
        return "", not comparison.equal
    return f"a limit that the program doesn't have:\n{comparison.text}", False


def _under_schedules(program: Program, function: Callable[..., Any]) -> str:
    ranks = torch.Size(program.layout.values()).numel()

    def run() -> Any:
        from torch.distributed.device_mesh import init_device_mesh

        names, sizes = tuple(program.layout), tuple(program.layout.values())
        return function(init_device_mesh("cpu", sizes, mesh_dim_names=names))

    test: Callable[..., None] = simmesh.spmd(world_size=ranks, schedules=SCHEDULES)(run)
    try:
        test()
    except Exception:  # as above
        return traceback.format_exc()
    return ""


def run(programs: Sequence[Program], path: Path, jobs: int) -> None:
    """Judges programs, a part of them at a time in a process of its own."""
    waiting = deque(
        programs[at : at + _OF_A_PROCESS] for at in range(0, len(programs), _OF_A_PROCESS)
    )
    for name in _IMPORTED:
        importlib.import_module(name)
    context = multiprocessing.get_context("fork")
    running: deque[tuple[Any, Sequence[Program]]] = deque()
    done = 0
    while waiting or running:
        while waiting and len(running) < jobs:
            part = waiting.popleft()
            process = context.Process(target=_judge_all, args=(part, path))
            process.start()
            running.append((process, part))
        process, part = running.popleft()
        process.join()
        rest = without_verdict(part, path, process.exitcode or 0)
        if rest:
            waiting.appendleft(rest)
        done += len(part) - len(rest)
        print(f"{done} of {len(programs)}", file=sys.stderr, flush=True)


def _judge_all(programs: Sequence[Program], path: Path) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    verdicts = Verdicts(path)
    with tempfile.TemporaryDirectory() as folder:
        for each in programs:
            verdicts.put(each, judge(each, Path(folder)))


def without_verdict(programs: Sequence[Program], path: Path, status: int) -> Sequence[Program]:
    """The programs that a process didn't come to. The one that ended it has that as a finding."""
    verdicts = Verdicts(path)
    rest = [each for each in programs if verdicts.get(each) is None]
    if not rest:
        return []
    died = Verdict(rest[0].seed, {CHECKS[0]: f"the process ended with status {status}"})
    verdicts.put(rest[0], died)
    return rest[1:]


def told(verdicts: Sequence[Verdict]) -> list[str]:
    """The counts in lines of Markdown."""
    seeds = [each.seed for each in verdicts]
    limited = sum(each.limited for each in verdicts)
    lines = [
        f"{len(verdicts)} right programs, of the seeds {min(seeds)} to {max(seeds)}; {versions()}",
        "",
        "| check | programs | no finding | finding |",
        "| --- | --- | --- | --- |",
    ]
    for check in CHECKS:
        found = [each.found[check] for each in verdicts if check in each.found]
        noise = sum(map(bool, found))
        lines.append(f"| `{check}` | {len(found)} | {len(found) - noise} | {noise} |")
    return [*lines, "", f"Of the first, {limited} name a limit of exact arithmetic that is there."]


def kept(path: Path, first: int = FIRST, count: int = COUNT) -> list[Verdict]:
    """The verdicts in a file on the programs from a seed on."""
    verdicts = Verdicts(path)
    found = map(verdicts.get, itertools.islice(drawn(first), count))
    return [each for each in found if each is not None]


def main() -> int:
    """Prints the counts and findings; returns 1 if there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help="programs")
    parser.add_argument("--first", type=int, default=FIRST, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE")
    parser.add_argument("--again", action="store_true", help="those that had a finding")
    options = parser.parse_args()
    verdicts = Verdicts(options.results)
    missing = []
    for each in itertools.islice(drawn(options.first), options.count):
        verdict = verdicts.get(each)
        if verdict is None or (options.again and any(verdict.found.values())):
            missing.append(each)
    if options.again:
        verdicts.forget(missing)
    run(missing, options.results, options.jobs)
    found = kept(options.results, options.first, options.count)
    print("\n".join(told(found)))
    noise = [(each, check) for each in found for check in CHECKS if each.found.get(check)]
    for verdict, check in noise:
        print(f"\n{check}, python tests/python/swarm_programs.py {verdict.seed}:")
        print("\n".join(verdict.found[check].splitlines()[-_LINES:]))
    return 1 if noise else 0


if __name__ == "__main__":
    sys.exit(main())
