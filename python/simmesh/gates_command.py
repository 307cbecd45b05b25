"""The command ``simmesh gates``, which lists and copies the default gates."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

SUMMARY = "lists the default gates, or copies them into a folder"

#: The folder with the default gates.
FOLDER = Path(__file__).parent / "gates"


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, or 2 where it could not run."""
    options = _parser().parse_args(list(arguments))
    gates = sorted(FOLDER.glob("*.toml"))
    if options.folder is None:
        for gate in gates:
            print(f"{gate.stem}: {_title(gate)}")
        print(f"{len(gates)} gates")
        return 0
    folder = Path(options.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [gate.name for gate in gates if (folder / gate.name).exists()]
        if there:
            return _refuse(f"{folder}: expected none of the gates there, got {there[0]}")
        for gate in gates:
            shutil.copyfile(gate, folder / gate.name)
    except OSError as error:
        return _refuse(str(error))
    print(f"{len(gates)} gates; run them with: simmesh run {folder}/*.toml")
    return 0


def _title(gate: Path) -> str:
    """The title of a gate. Python 3.10 reads no TOML."""
    found = re.search(r'^title = "(.*)"$', gate.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simmesh gates", description=SUMMARY)
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder to copy them to")
    return parser


def _refuse(message: str) -> int:
    print(f"simmesh: [gates_command] {' '.join(message.split())}", file=sys.stderr)
    return 2
