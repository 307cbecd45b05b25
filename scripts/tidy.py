"""Runs clang-tidy on sources, many at a time.

All sources are read in the batches in which the build compiles them, which is several times as fast
as one by one. Sources that are named, or that changed, are read one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from changed_files import ROOT, sources_of
from selection import add_options, say, select

# A source takes about five seconds.
CHANGED_SOURCES_MAX = 32
FINDING = re.compile(r"^\S.*:\d+:\d+: (?:warning|error): .*$", re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """The sources of one run of clang-tidy, and the preset with the command that compiles it."""

    file: str
    preset: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """The output of clang-tidy for a unit."""

    unit: Unit
    text: str
    failure: str

    def findings(self) -> set[str]:
        return set(FINDING.findall(self.text))


def single(source: str) -> Unit:
    """Returns the unit of one source."""
    preset = "release" if source.startswith("python/") else "debug"
    return Unit(str(ROOT / source), preset, (source,))


def batch(file: str, text: str) -> Unit:
    """Returns the unit of a file of the clang preset, which the build made of several sources."""
    sources = re.findall(r'^#include "(.*)"$', text, re.MULTILINE)
    return Unit(file, "clang", tuple(os.path.relpath(source, ROOT) for source in sources))


def all_units() -> list[Unit]:
    """Returns the units of all sources that the build compiles, without what it generates.

    The Python module is built by gcc alone, and some of gcc's warnings are unknown to clang.
    """
    units = []
    for preset in ("clang", "release"):
        commands = ROOT / "build" / preset / "compile_commands.json"
        for entry in json.loads(commands.read_text()):
            file, source = entry["file"], os.path.relpath(entry["file"], ROOT)
            if source.startswith("python/bindings/"):
                units += [single(source)] if preset == "release" else []
            elif preset == "clang" and "/generated/" not in file:
                is_batch = source.startswith("build/")
                text = Path(file).read_text() if is_batch else f'#include "{file}"'
                units.append(batch(file, text))
    return units


def run(program: str, unit: Unit) -> Report:
    """Runs clang-tidy on a unit. A failure is an end for another reason than a finding."""
    options = ["--extra-arg=-Wno-unknown-warning-option", "--quiet", "--warnings-as-errors=*"]
    folder = ROOT / "build" / unit.preset
    done = subprocess.run(
        [program, "-p", str(folder), *options, unit.file],
        check=False,
        capture_output=True,
        text=True,
    )
    is_explained = done.returncode == 0 or FINDING.search(done.stdout) is not None
    failure = "" if is_explained else f"{done.stderr}clang-tidy ended with {done.returncode}"
    return Report(unit, done.stdout, failure)


def run_all(program: str, units: Sequence[Unit]) -> int:
    """Runs clang-tidy on the units, prints what it finds, and returns an exit status."""
    # A finding in a header counts once, however many sources include it.
    findings: set[str] = set()
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started = [pool.submit(run, program, unit) for unit in units]
        for number, future in enumerate(as_completed(started), 1):
            report = future.result()
            findings |= report.findings()
            failed += report.failure != ""
            print(report.text, end="", flush=True)
            first, more = report.unit.sources[0], len(report.unit.sources) - 1
            name = f"{first} and {more} more" if more else first
            count = len(report.findings())
            say(f"tidy {number} of {len(units)}: {name}: {report.failure or f'{count} findings'}")
    count = sum(len(unit.sources) for unit in units)
    print(f"tidy: {count} sources, {len(findings)} findings")
    return 1 if findings or failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="runs clang-tidy on sources")
    parser.add_argument("--program", default="clang-tidy")
    add_options(parser)
    options = parser.parse_args()
    selection = select(options, sources_of, CHANGED_SOURCES_MAX)
    units = all_units() if selection.is_all else [single(path) for path in selection.files]
    say(f"clang-tidy on {len(units)} files: {selection.why}")
    return run_all(options.program, units)


if __name__ == "__main__":
    sys.exit(main())
