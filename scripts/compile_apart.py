"""Compiles C++ files one by one, each by itself, and writes nothing.

The build compiles a dozen sources at a time, so a source may use what only another one includes,
and a header what only those before it include. Here such a file doesn't compile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from changed_files import ROOT, with_includers
from compile_commands import Command, command_for, commands_of_build
from selection import add_options, say, select

# A file takes one or two seconds. All take half an hour on two processors.
CHANGED_FILES_MAX = 160


def is_part(path: str) -> bool:
    """Says whether a header is a part of the sources that include it, whose macro it needs."""
    return path.endswith(".h") and "::SIMMESH_KERNELS {" in (ROOT / path).read_text()


def compile_file(path: str, command: Command) -> str:
    """Returns the compiler's messages about a file, empty if it compiles."""
    file = str(ROOT / path)
    # A header that is compiled as such is told that it needs no #pragma once.
    inputs = ["-x", "c++", "-include", file, os.devnull] if path.endswith(".h") else [file]
    words = [*command.words, "-fsyntax-only", "-fmax-errors=4", *inputs]
    done = subprocess.run(words, cwd=command.folder, check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr or f"{path}: status {done.returncode}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="compiles C++ files each by itself")
    add_options(parser)
    selection = select(parser.parse_args(), with_includers, CHANGED_FILES_MAX)
    commands = commands_of_build()
    jobs = [
        (path, command)
        for path in selection.files
        if (command := command_for(path, commands)) is not None and not is_part(path)
    ]
    say(f"compiling {len(jobs)} files apart: {selection.why}")
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for messages in pool.map(lambda job: compile_file(*job), jobs):
            failed += messages != ""
            print(messages, end="", flush=True)
    print(f"apart: {len(jobs)} files, {failed} that don't compile")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
