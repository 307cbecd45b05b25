"""The command ``python -m simmesh.torch_tests``: runs PyTorch's own tests of torch.distributed from
a checkout of its sources on ranks, and writes their verdicts by id.

python -m simmesh.torch_tests --checkout ~/pytorch tensor/test_api.py
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from simmesh.termination import end_children_on_sigterm
from simmesh.torch_tests.forked_files import FileRun, Limits, Verdict, run_file
from simmesh.torch_tests.page import renew_page
from simmesh.torch_tests.verdict_list import BAD, NOT_RUN, Reasons, VerdictList, read_list

SUMMARY = """runs PyTorch's own tests under test/distributed of a checkout, with ranks in place of
their processes and threads; the status is 1 if a test fails that the list doesn't know to fail on
processes too, and for which the reasons have none"""


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser("python -m simmesh.torch_tests", description=SUMMARY)
    add = result.add_argument
    add("--checkout", type=Path, required=True, help="a checkout of PyTorch's sources")
    add("files", nargs="*", metavar="FILE", help="files or folders below test/distributed; all of "
        "them, but for elastic, launcher and rpc, if none is named")  # fmt: skip
    add("--on", choices=("ranks", "processes"), default="ranks",
        help="processes: as PyTorch runs them, for a verdict to compare with")  # fmt: skip
    add("--spawn", action="store_true", help="spawn the processes instead of forking them")
    add("--ids", choices=("all", "new", "bad"), default="all", help="the tests to run: those that "
        "have no verdict in the list yet, or those that fail on ranks there")  # fmt: skip
    add("--jobs", type=int, default=1, metavar="N", help="files that run at the same time")
    add("--limit", type=float, default=120, metavar="S", help="seconds for each test")
    add("--file-limit", type=float, default=math.inf, metavar="S", help="seconds after which no "
        "other test of a file begins; --ids new goes on with the rest")  # fmt: skip
    add("-k", metavar="EXPRESSION", default="", help="the tests to run, as pytest's -k says it")
    add("--list", type=Path, metavar="FILE", help="the list of verdicts to compare with")
    add("--reasons", type=Path, metavar="FILE", help="why tests fail on ranks alone")
    add("--renew", action="store_true", help="write the verdicts to the list, file by file")
    add("--page", type=Path, metavar="FILE", help="with --renew, renew the table of this page, too")
    add("--logs", type=Path, metavar="FOLDER", help="where to leave what the tests print")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        return _run(options)
    except (OSError, ValueError) as error:
        print(f"simmesh.torch_tests: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    from simmesh.torch_tests.checkout import files_of, import_once

    if options.jobs < 1 or options.limit <= 0:
        raise ValueError("expected --jobs of at least 1 and a --limit above 0")
    if options.renew and options.list is None:
        raise ValueError("--renew: expected a list to renew, by --list FILE")
    checkout = options.checkout.resolve()
    files = files_of(checkout, options.files)
    listed = read_list(options.list) if options.list else VerdictList()
    reasons = Reasons(options.reasons.read_text(encoding="utf-8") if options.reasons else "")
    logs = (options.logs or Path(tempfile.mkdtemp(prefix="simmesh-torch-tests-"))).resolve()
    logs.mkdir(parents=True, exist_ok=True)
    import_once()
    on_ranks = options.on == "ranks"
    tasks = []
    for file in files:
        done, only = _choice(listed.files.get(str(file), {}), options.ids, on_ranks)
        if options.ids != "bad" or only:
            tasks.append(_Task(options, checkout, file, logs, done, only))
    unexplained, total = [], Counter[str]()
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.jobs, fork) as pool:
        for ended in as_completed([pool.submit(task.run) for task in tasks]):
            name, run = ended.result()
            words = {test: _word(each, on_ranks) for test, each in run.verdicts.items()}
            listed.set(name, on_ranks, words)
            total.update(words.values())
            unexplained += _report(name, run, listed, reasons) if on_ranks else []
            print(f"{name}: {_summary(Counter(words.values()))} {run.refusal[-300:]}".rstrip())
            sys.stdout.flush()
            if options.renew:
                listed.write(options.list)
    print(f"{_summary(total)} of {sum(total.values())} tests; what they printed is in {logs}")
    if options.page and options.renew:
        renew_page(options.page, listed, reasons)
    return 1 if unexplained else 0


class _Task:
    """One file to run."""

    def __init__(
        self, options: Any, checkout: Path, file: Path, logs: Path, *ids: set[str]
    ) -> None:
        self._options, self._checkout, self._file, self._logs = options, checkout, file, logs
        self._done, self._only = ids

    def run(self) -> tuple[str, FileRun]:
        """Runs the file in forks of this process."""
        from simmesh.torch_tests.checkout import FileBody

        options = self._options
        on, limits = options.on, Limits(options.limit, options.file_limit)
        body = FileBody(
            self._checkout, self._file, on == "ranks", not options.spawn, options.k
        )  # fmt: skip
        log = self._logs / f"{on}-{str(self._file).replace('/', '-')}.txt"
        return str(self._file), run_file(body, log, limits, self._done, self._only)


def _choice(known: dict[str, list[str]], which: str, on_ranks: bool) -> tuple[set[str], set[str]]:
    """The tests of a file to leave out, and those to run; none means all."""
    if which == "bad":
        return set(), {name for name, pair in known.items() if pair[0] in BAD}
    if which == "new":
        side = 0 if on_ranks else 1
        return {name for name, pair in known.items() if pair[side] != NOT_RUN}, set()
    return set(), set()


def _word(verdict: Verdict, on_ranks: bool) -> str:
    return "host" if on_ranks and verdict.word == "passed" and not verdict.has_ranks else (
        verdict.word
    )  # fmt: skip


def _report(file: str, run: FileRun, listed: VerdictList, reasons: Reasons) -> list[str]:
    """Prints the tests of a file that fail on ranks alone, as far as the list knows; returns those
    without a reason.
    """
    result = []
    for name, verdict in run.verdicts.items():
        on_processes = listed.files[file][name][1]
        if verdict.word not in BAD or on_processes in BAD:
            continue
        reason = reasons.of(f"{file}::{name}")
        result += [] if reason else [name]
        print(f"  {file}::{name} {verdict.word}: {reason or _cause(verdict.message)}")
    return result


def _cause(message: str) -> str:
    """The line of a report that names the last exception."""
    named = re.findall(r"^E?\s+(\[?[\w./]+(?:Error|Exception|Skip|\])\b.*)", message, re.MULTILINE)
    return (named or message.splitlines() or [""])[-1][:300]


def _summary(words: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(words.items())) or "no tests"


if __name__ == "__main__":
    end_children_on_sigterm()
    sys.exit(main())
