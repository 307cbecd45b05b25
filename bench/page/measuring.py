"""Runs the programs and scripts that measure figures, and reads what they print."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
#: Google Benchmark adds these to a name if a benchmark chooses its clock or its length.
SUFFIXES = (
    "real_time", "manual_time", "process_time", "min_time:", "min_warmup_time:", "iterations:",
    "repeats:", "threads:",
)  # fmt: skip
#: What Google Benchmark writes of each benchmark beside its counters.
OWN_KEYS = frozenset((
    "name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time", "time_unit", "family_index", "per_family_instance_index", "label",
    "error_occurred", "error_message", "aggregate_name", "aggregate_unit",
))  # fmt: skip


@dataclass
class Measured:
    """Values by name, and the reason why a source has none."""

    values: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def value(self, name: str) -> float | None:
        """The value of ``SOURCE: NAME``; None if it wasn't measured."""
        return self.values.get(name)

    def reason(self, name: str) -> str:
        """Says why there is no such value."""
        return self.missing.get(name.split(": ", 1)[0], "not measured")


@dataclass(frozen=True)
class Place:
    """Where programs are: those of the build, the interpreter of PyTorch, and the tree."""

    root: Path
    programs: Path
    python: Path
    out: Path


def plain_name(name: str) -> str:
    """The benchmark's own name."""
    return "/".join(part for part in name.split("/") if not part.startswith(SUFFIXES))


def read_benchmarks(source: str, text: str) -> dict[str, float]:
    """Times in microseconds and counters, of what Google Benchmark wrote. Of several repetitions
    the one of the smallest time counts.
    """
    values: dict[str, float] = {}
    for entry in json.loads(text)["benchmarks"] if text.strip() else []:
        if entry.get("run_type") == "aggregate" or entry.get("error_occurred"):
            continue
        name = f"{source}: {plain_name(entry['name'])}"
        us = entry["real_time"] * MICROSECONDS[entry["time_unit"]]
        if us > values.get(name, us):
            continue
        values[name] = us
        for counter, value in entry.items():
            if counter not in OWN_KEYS and isinstance(value, (int, float)):
                values[f"{name} {counter}"] = float(value)
    return values


def read_lines(source: str, text: str) -> dict[str, float]:
    """Values of a script: each line that is a JSON object has a name and a ``value`` or ``us``."""
    values = {}
    for line in text.splitlines():
        if line.startswith("{"):
            entry = json.loads(line)
            values[f"{source}: {entry['name']}"] = float(entry.get("value", entry.get("us")))
    return values


def benchmark_filter(names: Iterable[str], listed: Iterable[str]) -> str:
    """The expression that chooses the benchmarks with these names or with counters of theirs, of
    those that a program lists.
    """
    wanted = {name.split(" ")[0] for name in names}
    found = [line for line in listed if plain_name(line) in wanted]
    return "^(" + "|".join(found) + ")$" if found else ""


def lacks(python: Path, need: str) -> str:
    """Says what isn't installed of ``command NAME`` or ``module NAME``; else ''."""
    kind, name = need.split(" ", 1)
    if kind == "command":
        return "" if shutil.which(name) else f"{name} isn't installed"
    done = subprocess.run([python, "-c", f"import importlib.util as u, sys; "
        f"sys.exit(u.find_spec({name!r}) is None)"], check=False)  # fmt: skip
    return f"{name} isn't installed" if done.returncode else ""


def measure(
    place: Place,
    names: Iterable[str],
    needs: Mapping[str, str],
    say: Callable[[str], None],
    after_each: Callable[[Measured], None] = lambda measured: None,
) -> Measured:
    """Measures what has these names, one source after the other, and calls ``after_each`` then."""
    sources: dict[str, list[str]] = {}
    for name in names:
        source, own = name.split(": ", 1)
        sources.setdefault(source, []).append(own)
    measured = Measured()
    for source, wanted in sources.items():
        lack = lacks(place.python, needs[source]) if source in needs else ""
        if lack:
            measured.missing[source] = lack
            say(f"{source} is left out: {lack}")
            continue
        say(f"measuring with {source}")
        if source.endswith(".py"):
            _run_script(place, source, measured)
        else:
            _run_benchmarks(place, source, wanted, measured)
        if source in measured.missing:
            say(f"{source}: {measured.missing[source]}")
        after_each(measured)
    return measured


def _run_benchmarks(place: Place, source: str, names: list[str], measured: Measured) -> None:
    program = place.programs / source
    if not program.exists():
        measured.missing[source] = "the benchmark wasn't built"
        return
    listed = subprocess.run(
        [program, "--benchmark_list_tests"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    chosen = benchmark_filter(names, listed)
    if not chosen:
        measured.missing[source] = "no benchmark has that name"
        return
    written = place.out / f"{source}.json"
    done = subprocess.run(
        [program, f"--benchmark_filter={chosen}", "--benchmark_out_format=json",
         f"--benchmark_out={written}"], check=False, stdout=sys.stderr,
    )  # fmt: skip
    if done.returncode:
        measured.missing[source] = f"the benchmark ended with status {done.returncode}"
        return
    measured.values.update(read_benchmarks(source, written.read_text()))


def _run_script(place: Place, source: str, measured: Measured) -> None:
    command: list[str | Path] = [place.python, place.root / source]
    if "--json" in (place.root / source).read_text(encoding="utf-8"):
        command.append("--json")
    done = subprocess.run(
        command, check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(place.programs.parent / "python"),
             "PYTHONDONTWRITEBYTECODE": "1", "SIMMESH_PROGRAMS": str(place.programs)},
    )  # fmt: skip
    measured.values.update(read_lines(source, done.stdout))
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        measured.missing[source] = f"ended with status {done.returncode}: {last}"
