"""Runs inputs that once failed, one by one, and prints a table: the input, expected, got.

The folder has recorded cases (`fresh*.jsonl`, which must pass, and `falsified*.jsonl`, which must
not), scripts of shells in `robustness`, which must end by themselves, and programs of PyTorch ranks
in `pytorch_programs`, which must return what processes of gloo return. Without a folder nothing is
run. The status is 1 if a row differs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

Row = tuple[str, str, str]

SECONDS_MAX = 300


def run(arguments: list[str], folder: Path, **environment: str) -> tuple[int | str, str]:
    """Runs a program; returns its status, or "hung", and what it printed."""
    try:
        done = subprocess.run(
            arguments,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        return "hung", ""
    return done.returncode, done.stdout


def recorded_cases(folder: Path, simmesh: str) -> Iterator[Row]:
    """Verifies each line of the files by itself, since one that is refused ends a run."""
    for path in sorted(folder.glob("*.jsonl")):
        expected = "passes" if path.name.startswith("fresh") else "fails or is refused"
        for number, line in enumerate(path.read_text().splitlines(), 1):
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
                file.write(line + "\n")
                file.flush()
                status, text = run([simmesh, "verify", file.name], folder)
            words = {0: "passes", 1: "fails or is refused", 2: "fails or is refused"}
            got = words.get(status, f"status {status}") if isinstance(status, int) else status
            first = text.splitlines()[0][:120] if got != expected and text else ""
            yield f"{path.name}:{number}", expected, f"{got} {first}".strip()


def scripts(folder: Path, simmesh: str) -> Iterator[Row]:
    """Runs the scripts. Status 124 is what `timeout` says of a program that hangs."""
    for path in sorted((folder / "robustness").glob("*.sh")):
        status, text = run(["sh", str(path)], folder, SIMMESH=str(Path(simmesh).resolve()))
        wrong = re.findall(r"status (?:124|13[0-9])", text)
        got = "ends" if status == 0 and not wrong else f"status {status}, {wrong}"
        yield path.name, "ends", got


def returned(text: str, system: str) -> list[str]:
    """Returns what each rank returned. Processes that raise aren't compared by their texts."""
    pattern = rf"^{system} rank (\d+)(?: ok)?: (.*)$"
    return [f"{rank}: {value}" for rank, value in re.findall(pattern, text, re.MULTILINE)]


def programs(folder: Path, python: str, names: list[str]) -> Iterator[Row]:
    """Runs each program as ranks and as processes."""
    own = folder / "pytorch_programs"
    for path in sorted(own.glob("*.py")):
        if "from both import run" not in path.read_text() or (names and path.stem not in names):
            continue
        ranks = run([python, path.name], own)
        processes = run([python, path.name, "--gloo"], own)
        if "hung" in (ranks[0], processes[0]):
            yield path.name, f"status {processes[0]} of processes", f"status {ranks[0]}"
            continue
        same = returned(ranks[1], "simmesh") == returned(processes[1], "gloo")
        yield path.name, "as processes", "as processes" if same else "other values or errors"


def main() -> int:
    parser = argparse.ArgumentParser(description="runs inputs that once failed, one by one")
    parser.add_argument("folder", type=Path, nargs="?", help="the folder of the inputs")
    parser.add_argument("--simmesh", required=True, help="the program")
    parser.add_argument("--python", help="a Python with torch and simmesh, for the programs")
    parser.add_argument("--only", nargs="*", default=[], help="only these programs, without .py")
    arguments = parser.parse_args()
    if arguments.folder is None or not arguments.folder.is_dir():
        print("skip inputs that once failed: no folder was given")
        return 0
    rows: list[Row] = []
    kinds = [
        recorded_cases(arguments.folder, arguments.simmesh),
        scripts(arguments.folder, arguments.simmesh),
    ]
    if arguments.python:
        kinds.append(programs(arguments.folder, arguments.python, arguments.only))
    for kind in kinds:
        for row in kind:
            rows.append(row)
            print("| " + " | ".join(row) + " |", flush=True)
    differing = sum(expected != got for _, expected, got in rows)
    print(f"{len(rows) - differing} as expected, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
