"""Runs trainings of frameworks on processes of gloo and on ranks, and prints the table of
docs/frameworks.md.

frameworks.py [--page docs/frameworks.md] [--also PYTHON...] [NAME...]

Each program runs in the Python that runs this one, or in the first of the others that has its
package: once by torchrun and once by simmesh torchrun, with two ranks. All bits that the ranks save
must be equal. torchtitan's trainer asks for GPUs, so it runs with --device cuda on ranks; its rows
are named titan-1, titan-2 and so on. The status is 1 if a program passes on gloo and not on ranks.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "python" / "framework_programs.py"
RANKS = 2
SECONDS_MAX = 1200
#: The lines of the page between which the table stands.
BEGIN, END = "<!-- made by ./dev test --frameworks -->\n", "<!-- end of the table -->\n"
# The names under which packages are installed, where modules have others.
_DISTRIBUTIONS = {"megatron": "megatron-core", "lightning_fabric": "lightning-fabric"}
_TORCHRUN = ("torch.distributed.run", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0")


@dataclass(frozen=True)
class Ended:
    """The end of a run: the last line of its errors, empty where it passed, and its seconds."""

    error: str
    seconds: float

    @property
    def text(self) -> str:
        sentence = self.error.strip().partition(". ")[0]
        verdict = f"fails: `{sentence[:100].strip()}`" if self.error else "passes"
        return f"{verdict}, {self.seconds:.1f} s"


@dataclass(frozen=True)
class Row:
    """One program, and how it ended on gloo and on ranks. ``differs`` says that bits do."""

    package: str
    version: str
    program: str
    gloo: Ended
    ranks: Ended
    has_values: bool
    differs: bool = False

    @property
    def is_red(self) -> bool:
        return self.differs or (not self.gloo.error and bool(self.ranks.error))

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = self.ranks.text
        if self.has_values and not self.ranks.error and not self.gloo.error:
            verdict = verdict.replace("passes", "other bits" if self.differs else "equal bits")
        has_times = not self.gloo.error and not self.ranks.error
        ratio = f"{self.gloo.seconds / self.ranks.seconds:.1f}" if has_times else ""
        return self.package, self.version, self.program, self.gloo.text, verdict, ratio


def table(rows: Sequence[Row]) -> str:
    """The rows as a table of Markdown."""
    heads = ("package", "version", "program", "gloo", "ranks", "gloo / ranks")
    lines = [heads, ("---",) * len(heads), *(row.cells for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_rows(page: str, rows: Sequence[Row]) -> str:
    """The page with these rows in place of those of the same programs; other rows stay. Raises
    ValueError where the page has no place for a table.
    """
    before, begin, rest = page.partition(BEGIN)
    old, end, behind = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"expected a page with the lines {BEGIN!r} and {END!r}")
    heads, lines = table(rows).splitlines()[:2], {}
    for line in [*old.splitlines()[2:], *table(rows).splitlines()[2:]]:
        package, _, program = line.split(" | ")[:3]
        lines[package, program] = line
    text = "".join(f"{line}\n" for line in [*heads, *lines.values()])
    return before + begin + text + end + behind


def _run(
    python: str, words: Sequence[str], folder: Path | None, place: Path | None = None
) -> Ended:
    """Runs a program in the folder ``place``; one that saves values saves them in ``folder``."""
    begin = time.monotonic()
    where = [] if folder is None else [str(folder)]
    if folder is not None:
        folder.mkdir()
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    try:
        ran = subprocess.run(
            [python, "-m", *words, *where], text=True, capture_output=True, check=False,
            timeout=SECONDS_MAX, env=variables, cwd=place,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(f"no end in {SECONDS_MAX} s", time.monotonic() - begin)
    lines = [line for line in ran.stderr.splitlines() if line.strip()] or ["no message"]
    error = next((line for line in reversed(lines) if "Error" in line), lines[-1])
    if ran.returncode < 0:
        error = f"ended by {signal.Signals(-ran.returncode).name}"
    return Ended(error if ran.returncode else "", time.monotonic() - begin)


def _judge(python: str, package: str, program: str, words: Sequence[str], has_values: bool) -> Row:
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary, name) if has_values else None for name in ("gloo", "ranks")]
        gloo = _run(python, [*_TORCHRUN, "--nproc-per-node", str(RANKS), *words], folders[0])
        options = ["--nproc-per-node", str(RANKS), "--timeout", "300"]
        ranks = _run(python, ["simmesh", "torchrun", *options, *words], folders[1])
        passed = not gloo.error and not ranks.error
        differs = has_values and passed and not _are_equal(*filter(None, folders))
    return Row(package, _version(python, package), program, gloo, ranks, has_values, differs)


def _judge_titan(python: str, title: str, ranks: int, words: Sequence[str], place: Path) -> Row:
    """Runs a training of torchtitan's trainer, in a folder that has its data."""
    program = ["-m", "torchtitan.train", *words]
    gloo = _run(python, [*_TORCHRUN, "--nproc-per-node", str(ranks), *program], None, place)
    options = ["--nproc-per-node", str(ranks), "--timeout", "300", "--device", "cuda"]
    on_ranks = _run(python, ["simmesh", "torchrun", *options, *program], None, place)
    version = _version(python, "torchtitan")
    return Row("torchtitan", version, title, gloo, on_ranks, has_values=False)


def _version(python: str, package: str) -> str:
    """The version of a package that a Python has; empty if it has none."""
    name = _DISTRIBUTIONS.get(package, package)
    words = f"import importlib.metadata as m; print(m.version({name!r}))"
    ran = subprocess.run([python, "-c", words], text=True, capture_output=True, check=False)
    return ran.stdout.strip()


def _are_equal(one: Path, other: Path) -> bool:
    """True if all ranks saved equal bits."""
    import torch

    def saved(folder: Path) -> list[Any]:
        return [value for rank in range(RANKS)
                for value in torch.load(folder / f"{rank}.pt", weights_only=False)]  # fmt: skip

    def is_same(one: Any, other: Any) -> bool:
        if isinstance(one, torch.Tensor):
            return bool(one.dtype == other.dtype and torch.equal(one, other))
        return bool(one == other)

    values, others = saved(one), saved(other)
    return len(values) == len(others) and all(map(is_same, values, others))


def _rows(names: Sequence[str], pythons: Sequence[str]) -> Iterator[Row]:
    sys.path.insert(0, str(PROGRAMS.parent))
    from framework_programs import OWN_SCRIPTS, TITLES
    from titan_programs import TRAININGS, write_data

    def python_of(package: str) -> str:
        """The first Python that has a package; the first of all where none has it."""
        return next((each for each in pythons if _version(each, package)), pythons[0])

    for name, title in TITLES.items():
        package = name.partition("-")[0]
        if not names or name in names:
            yield _judge(python_of(package), package, title, [str(PROGRAMS), name], True)
    for package, modules in OWN_SCRIPTS.items():
        for module in modules:
            short = module.rpartition(".")[2]
            if not names or short in names:
                title = f"its own script `{short}`, by `-m`"
                yield _judge(python_of(package), package, title, ["-m", module], False)
    for number, training in enumerate(TRAININGS, 1):
        if not names or f"titan-{number}" in names:
            with tempfile.TemporaryDirectory() as temporary:
                write_data(Path(temporary))
                words = training.words()
                python = python_of("torchtitan")
                yield _judge_titan(python, training.title, training.ranks, words, Path(temporary))


def main() -> int:
    """Runs the programs and prints their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="a page whose table is renewed")
    parser.add_argument("--also", action="append", default=[], metavar="PYTHON",
                        help="another Python, for packages that this one lacks")  # fmt: skip
    parser.add_argument("names", nargs="*", help="the programs to run; all by default")
    options = parser.parse_args()
    rows = []
    for row in _rows(options.names, [sys.executable, *options.also]):
        rows.append(row)
        print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(rows), end="")
    if options.page is not None:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(with_rows(page, rows), encoding="utf-8")
    return int(any(row.is_red for row in rows))


if __name__ == "__main__":
    sys.exit(main())
