"""Which files a check looks at: all, those named, or those that changed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from changed_files import ROOT, Checkout, Includes, cpp_files, read_includes


@dataclass(frozen=True)
class Selection:
    """The files that a check looks at, and why these."""

    files: Sequence[str]
    why: str
    is_all: bool = False


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose files."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--all", action="store_true", help="check all files")
    choice.add_argument("--since", metavar="REV", help="check what changed since the commit REV")
    choice.add_argument("files", nargs="*", default=[], help="check these files")


def select(
    options: argparse.Namespace, affected: Callable[[Sequence[str], Includes], list[str]], most: int
) -> Selection:
    """Returns the files that the options choose; of changed ones the first `most` affected."""
    if options.all:
        return Selection(cpp_files(), "all files", is_all=True)
    if options.files:
        return Selection([from_root(path) for path in options.files], "as named")
    checkout = Checkout()
    base = checkout.base(options.since)
    files = affected(checkout.changed_since(base), read_includes())
    why = "what changed last" if base is None else f"changed since {base[:12]}"
    if len(files) > most:
        why += f", the last {most} of {len(files)} files that this affects"
    return Selection(files[:most], why)


def from_root(path: str) -> str:
    """Returns the path from the root of a file named in the folder where ./dev was called."""
    return os.path.relpath(os.path.abspath(path), ROOT)


def say(text: str) -> None:
    """Prints a message of the script, as ./dev does."""
    print(f"dev: {text}", file=sys.stderr, flush=True)
