"""The commands with which the build compiles each source by itself."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Command:
    """The compiler and its flags, without the source and without what it writes."""

    folder: str
    words: tuple[str, ...]


def read_commands(text: str, root: Path = ROOT) -> dict[str, Command]:
    """Returns the commands of a compile_commands.json by the paths of the sources below the root.

    What the build generates is left out.
    """
    commands = {}
    for entry in json.loads(text):
        source = os.path.relpath(entry["file"], root)
        if source.startswith(("build/", "../")):
            continue
        words = shlex.split(entry["command"])
        output = words.index("-o")
        kept = words[:output] + words[output + 2 :]
        kept = [word for word in kept if word not in ("-c", entry["file"])]
        commands[source] = Command(entry["directory"], tuple(kept))
    return commands


def commands_of_build(presets: Iterable[str] = ("debug", "release")) -> dict[str, Command]:
    """Returns the commands of the first preset that compiles a source.

    The debug preset has no batches of sources. The Python module is part of the release preset
    alone, which compiles its sources by themselves too.
    """
    commands: dict[str, Command] = {}
    for preset in presets:
        path = ROOT / "build" / preset / "compile_commands.json"
        if not path.exists():
            continue
        for source, command in read_commands(path.read_text()).items():
            if preset == "debug" or source.startswith("python/"):
                commands.setdefault(source, command)
    return commands


def command_for(path: str, commands: dict[str, Command]) -> Command | None:
    """Returns the command of a source; for a header that of a source near it; None if unknown."""
    if path in commands or not path.endswith(".h"):
        return commands.get(path)
    folder = os.path.dirname(path)
    while folder:
        near = [source for source in commands if source.startswith(folder + "/")]
        if near:
            return commands[min(near)]
        folder = os.path.dirname(folder)
    return None
