"""Files that changed, and files that are affected by them.

The checks of `./dev lint` that take seconds a file look at these alone:

- in a branch, at all that changed since it left its upstream, committed or not;
- without such changes, as in a fresh clone, at what changed last, however long ago.

Each check takes as many as it has time for, those that changed last first.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

Includes = Mapping[str, Iterable[str]]
# The folders of tests/install are projects of users, which have builds of their own.
LEFT_OUT = ("build", ".git", "tests/cases", "tests/install")


class Checkout:
    """The git work tree that a folder is in."""

    def __init__(self, folder: Path = ROOT) -> None:
        self.folder = folder

    def git(self, *words: str) -> str:
        """Returns what a command of git prints; raises CalledProcessError if it fails."""
        done = subprocess.run(
            ["git", *words], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout

    def uncommitted(self) -> list[str]:
        """Returns the files of the work tree that differ from the last commit."""
        changed = self.git("diff", "--name-only", "--no-renames", "-z", "HEAD")
        new = self.git("ls-files", "--others", "--exclude-standard", "-z")
        return [path for path in (changed + new).split("\0") if path]

    def base(self, since: str | None) -> str | None:
        """Returns the commit after which changes count, None if all of the history does."""
        if since is not None:
            return self.git("merge-base", since, "HEAD").strip()
        head = self.git("rev-parse", "HEAD").strip()
        try:
            base = self.git("merge-base", "@{upstream}", "HEAD").strip()
        except subprocess.CalledProcessError:
            base = head
        return None if base == head and not self.uncommitted() else base

    def changed_since(self, base: str | None) -> list[str]:
        """Returns the files that changed and that still exist, those that changed last first."""
        commits = "HEAD" if base is None else f"{base}..HEAD"
        # With -c a merge names the files that differ from all of its parents.
        log = self.git("log", "-c", "--format=", "--name-only", "--no-renames", "-z", commits)
        paths = dict.fromkeys(self.uncommitted() + re.split(r"[\0\n]+", log))
        return [path for path in paths if path and (self.folder / path).is_file()]


def read_includes(root: Path = ROOT) -> dict[str, list[str]]:
    """Returns what each C++ file of the tree includes from the tree, by its path from the root."""
    pattern = re.compile(r'^#include (?:"|<simmesh/)([^">]+)[">]', re.MULTILINE)
    includes = {}
    for path in cpp_files(root):
        includes[path] = pattern.findall((root / path).read_text())
    return includes


def cpp_files(root: Path = ROOT) -> list[str]:
    """Returns the C++ files of the build by their paths from the root, in order."""
    found = []
    for folder, folders, names in os.walk(root):
        here = os.path.relpath(folder, root)
        paths = {name: os.path.normpath(os.path.join(here, name)) for name in (*folders, *names)}
        folders[:] = [name for name in folders if paths[name] not in LEFT_OUT]
        found += [paths[name] for name in names if name.endswith((".cpp", ".h"))]
    return sorted(found)


def with_includers(changed: Iterable[str], includes: Includes) -> list[str]:
    """Returns the C++ files among those changed, then those that include them, nearest first."""
    includers: dict[str, list[str]] = {}
    for path in includes:
        for included in includes[path]:
            includers.setdefault(included, []).append(path)
    ordered = dict.fromkeys(path for path in changed if path in includes)
    queue = deque(ordered)
    while queue:
        for path in includers.get(queue.popleft(), ()):
            if path not in ordered:
                ordered[path] = None
                queue.append(path)
    return list(ordered)


def sources_of(changed: Iterable[str], includes: Includes) -> list[str]:
    """Returns the sources among the files changed; for a header the source of its name, or else
    the nearest that includes it.
    """
    sources: dict[str, None] = {}
    for path in changed:
        twin = path.removesuffix(".h") + ".cpp"
        if path not in includes:
            continue
        if path.endswith(".cpp"):
            sources[path] = None
        elif twin in includes:
            sources[twin] = None
        else:
            users = [user for user in with_includers([path], includes) if user.endswith(".cpp")]
            sources.update(dict.fromkeys(users[:1]))
    return list(sources)
