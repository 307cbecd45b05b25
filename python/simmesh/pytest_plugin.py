"""The plugin of pytest: the markers ``simmesh`` and ``simmesh_rule``, the fixtures ``spmd`` and
``same_as_one_device``, and options for schedules.

    @pytest.mark.simmesh(world_size=4)
    def test_on_every_rank(): ...

    @pytest.mark.simmesh_rule("mk, kn -> mn")
    def test_rule():
        return torch.matmul

    def test_on_the_host(spmd):
        results = spmd(program, world_size=4)

    def test_layouts(same_as_one_device):
        same_as_one_device(program, layouts=[{"dp": 2}, {"dp": 2, "tp": 2}])

``--simmesh-schedules N`` runs every such test under N schedules; ``--simmesh-replay FILE`` runs the
test that the file names under the file's schedule; ``--simmesh-findings FILE`` writes what failed
for programs (see ``simmesh.findings``). ``--simmesh-report DIR`` writes a page of HTML for each
test that fails: what each rank was doing, the first value that differs.

After a rank that blocked outside of simmesh, whose thread can't be ended, the remaining tests run
in a fresh process. Workers of pytest-xdist run tests side by side, and one process reports.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from simmesh import one_device, pytest_workers, replay_file, rules
from simmesh.exploration import CERTIFICATE
from simmesh.findings import Findings
from simmesh.one_device import Comparison
from simmesh.report import Part, file_name, write
from simmesh.spmd import SEATS, Options, Result, Settings, call_of_test, check, settings, spmd_run
from simmesh.spmd_report import failed_part

_left: list[str] = []

# The tests of which each text is true that says what was explored.
_explored: dict[str, list[str]] = {}

_findings = Findings(None)
# The parts of reports about tests that failed, and the pages that were written.
_parts: dict[str, Part] = {}
_pages: list[str] = []

_config: pytest.Config | None = None

# The variable is set for the fresh process that runs the remaining tests.
_continues = "SIMMESH_CONTINUES"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("simmesh")
    group.addoption(
        "--simmesh-schedules", type=int, metavar="N", help="run tests of ranks under N schedules"
    )
    group.addoption(
        "--simmesh-explore", choices=("all",),
        help="run tests of ranks under one schedule of each class of equivalent ones",
    )  # fmt: skip
    group.addoption(
        "--simmesh-no-certificate", action="store_true",
        help="run all schedules also where one run stands for all",
    )  # fmt: skip
    group.addoption(
        "--simmesh-jobs", type=int, metavar="N",
        help="let N forked processes run the schedules of a test",
    )  # fmt: skip
    group.addoption(
        "--simmesh-local", choices=("plain", "exact"), default=Settings.local,
        help="the operators of ranks: PyTorch's own, or exact ones, which also report accesses to "
             "buffers under way",
    )  # fmt: skip
    group.addoption(
        "--simmesh-seats", choices=SEATS, default=Settings.seats,
        help="the ranks of tests: threads of this process, or processes forked from it",
    )  # fmt: skip
    group.addoption(
        "--simmesh-report", metavar="DIR",
        help="write a page for each test that simmesh fails into a folder",
    )  # fmt: skip
    group.addoption(
        "--simmesh-replay", metavar="FILE", help="run a test under the schedule in FILE"
    )
    group.addoption(
        "--simmesh-findings", metavar="OUT",
        help="file for the tests that failed as lines of JSON (.jsonl) or SARIF (.sarif), or for "
             "all tests as JUnit's XML (.xml)",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Reads the options and makes the marker known."""
    global _config
    _config = config
    config.addinivalue_line(
        "markers",
        "simmesh(world_size=4, schedules=20, ...): run the test on every rank of a simulated job",
    )
    config.addinivalue_line(
        "markers",
        "simmesh_rule(rule, inputs=...): judge the sharding rule of the function that the test "
        "returns",
    )
    schedules = config.getoption("--simmesh-schedules")
    if schedules is not None and schedules < 1:
        raise pytest.UsageError(f"--simmesh-schedules: expected at least 1, got {schedules}")
    settings.schedules = schedules
    settings.explore = config.getoption("--simmesh-explore")
    settings.certificate = not config.getoption("--simmesh-no-certificate")
    settings.jobs = config.getoption("--simmesh-jobs")
    if settings.jobs is not None and settings.jobs < 1:
        raise pytest.UsageError(f"--simmesh-jobs: expected at least 1, got {settings.jobs}")
    _explored.clear()
    settings.explored = lambda name, found: _explored.setdefault(found.text(), []).append(name)
    settings.local = config.getoption("--simmesh-local")
    settings.seats = config.getoption("--simmesh-seats")
    if config.getoption("--simmesh-report") is not None:
        settings.told = _parts.__setitem__
    _parts.clear()
    _pages.clear()
    cache = getattr(config, "cache", None)
    if cache is not None:
        settings.folder = Path(cache.mkdir("simmesh"))
    _set_findings(config)
    path = config.getoption("--simmesh-replay")
    if path is not None:
        try:
            settings.replay = replay_file.read(Path(path))
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None


def _set_findings(config: pytest.Config) -> None:
    global _findings
    try:
        _findings = Findings(config.getoption("--simmesh-findings"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keeps what came of a test for --simmesh-findings, and writes the page of one that failed."""
    outcome = yield
    _keep_findings(item, call, outcome.get_result())  # type: ignore[attr-defined]
    _write_page(item, call)


def _keep_findings(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    if not _findings.is_asked:
        return
    suite = item.nodeid.partition("::")[0]
    if report.passed and call.when == "call":
        _findings.passed(suite, item.nodeid)
    elif report.failed and call.excinfo is not None:
        error = call.excinfo.value
        notes = getattr(error, "__notes__", [])
        # A decorated test may be located in its decorator.
        path, line, _ = item.location
        file = os.path.relpath(item.path)
        if os.path.basename(path) != item.path.name:
            line = None
        text = notes[-1] if notes else str(error)
        rule = f"pytest/{type(error).__name__}"
        if "reproduce: " not in text:
            text += f"\nreproduce: {call_of_test(item.nodeid)}"
        _findings.failed(
            suite, item.nodeid, text, rule, file=file, line=None if line is None else line + 1
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the findings; a fresh process that runs the remaining tests hands its own on."""
    found = {"checks": _findings.checks, "explored": _explored, "pages": _pages}
    path = session.config.getoption("--simmesh-findings")
    if pytest_workers.tell(session.config, found) or path is None:
        return
    part = Path(f"{path}.part")
    if _continues in os.environ:
        part.write_text(json.dumps(_findings.checks), encoding="utf-8")
        return
    if part.exists():
        _findings.checks += json.loads(part.read_text(encoding="utf-8"))
        part.unlink()
    _findings.write()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keeps the reports of a fresh process for one test."""
    if _config is not None:
        pytest_workers.keep_report(_config, report)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what a worker has found."""
    found = pytest_workers.found_by(node)
    if found is not None:
        _take(found)


def _take(found: dict[str, Any]) -> None:
    """Adds what another process has found, in the order of the tests' names."""
    _findings.checks += found["checks"]
    _findings.checks.sort(key=lambda each: str(each["name"]))
    for text, names in found["explored"].items():
        _explored[text] = sorted([*_explored.get(text, ()), *names])
    _pages[:] = sorted({*_pages, *found["pages"]})


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forgets the options, for processes that run pytest more than once."""
    settings.schedules = settings.replay = settings.explore = settings.jobs = None
    settings.certificate = True
    settings.explored = lambda name, found: None
    settings.told = None
    settings.local = Settings.local
    settings.seats = Settings.seats


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses the marker where it would have no effect."""
    for item in items:
        marker = item.get_closest_marker("simmesh")
        if marker is None:
            continue
        owner = getattr(item, "cls", None)
        is_unittest = owner is not None and issubclass(owner, unittest.TestCase)
        if is_unittest or not isinstance(item, pytest.Function):
            raise pytest.UsageError(
                f"{item.nodeid}: expected the marker simmesh at a function of pytest, got it at "
                "another test; a method of unittest is decorated with simmesh.spmd"
            )
        if marker.args:
            raise pytest.UsageError(
                f"{item.nodeid}: expected the options of the marker simmesh by name, as in "
                f"simmesh(world_size=4), got {', '.join(map(repr, marker.args))}"
            )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuses a replay of a test that isn't among those that are run."""
    replay = settings.replay
    if replay is None or any(item.nodeid == replay.test for item in session.items):
        return
    if _continues not in os.environ:
        raise pytest.UsageError(
            f"--simmesh-replay: expected the test '{replay.test}', whose schedule the file has, "
            f"among the tests to run, got {len(session.items)} others"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test with a marker: on every rank, or as the judge of a rule."""
    rule = pyfuncitem.get_closest_marker("simmesh_rule")
    marker = pyfuncitem.get_closest_marker("simmesh")
    if marker is None and rule is None:
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    if rule is not None:
        function = pyfuncitem.obj(**arguments)
        if not callable(function):
            raise TypeError(
                f"{pyfuncitem.nodeid}: expected a test with the marker simmesh_rule to return the "
                f"function whose rule is judged, got {function!r}"
            )
        verdict = rules.rulecheck(function, *rule.args, **rule.kwargs)
        if not verdict.holds:
            pytest.fail(verdict.text, pytrace=False)
        return True
    assert marker is not None
    check(functools.partial(pyfuncitem.obj, **arguments), Options(**marker.kwargs))
    return True


def _write_page(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    folder = item.config.getoption("--simmesh-report")
    if folder is None or call.when != "call" or call.excinfo is None:
        return
    part = _parts.pop(item.nodeid, None)
    error = call.excinfo.value
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    if part is None and not text.startswith("["):
        return
    path = Path(folder) / file_name(item.nodeid)
    write(path, item.nodeid, [part or failed_part(item.nodeid, text)])
    _pages.append(str(path))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says where pages of reports are, and what was explored: of all tests for which one run stands
    for all schedules, and of each that was to run all classes.
    """
    for path in _pages:
        terminalreporter.write_line(f"simmesh: report: {path}")
    for text, names in _explored.items():
        if text == CERTIFICATE:
            count = f"{len(names)} test" + "s" * (len(names) != 1)
            terminalreporter.write_line(f"simmesh: {count}: {text}")
        elif "classes" in text or "class of" in text:
            for name in names:
                terminalreporter.write_line(f"simmesh: {name}: {text}")


@pytest.fixture
def spmd() -> Callable[..., Result]:
    """Runs a program on every rank and under many schedules; returns the results of a run first
    come first served.
    """

    def run(program: Callable[..., Any], *arguments: Any, **options: Any) -> Result:
        check(functools.partial(program, *arguments), Options(**options))
        return spmd_run(program, *arguments, **options)

    return run


@pytest.fixture
def same_as_one_device() -> Callable[..., Comparison]:
    """Compares a program on layouts of ranks with one device, as
    ``simmesh.same_as_one_device(program, layouts=[...])`` does.
    """
    return one_device.same_as_one_device


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leaves a test to the fresh process if a rank blocks in this one."""
    if settings.spoiled is None:
        return None
    if pytest_workers.is_worker(item.config):
        pytest_workers.run_afresh(item, _take)
    else:
        _left.append(item.nodeid)
    return True


def _from_folder(config: pytest.Config, tests: list[str]) -> list[str]:
    """The ids of tests, which begin at the root, as seen from the folder where pytest started."""
    names = (test.split("::", 1) for test in tests)
    return [
        "::".join([os.path.relpath(config.rootpath / file, config.invocation_params.dir), *name])
        for file, *name in names
    ]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Runs the remaining tests in a fresh process. This one's exit status covers both."""
    yield
    if not _left:
        return
    files = set(session.config.getoption("file_or_dir"))
    options = [each for each in session.config.invocation_params.args if each not in files]
    print(
        f"\n[python/pytest_plugin] a rank blocks in this process; {len(_left)} tests go on in a "
        "fresh one"
    )
    sys.stdout.flush()
    tests, _left[:] = list(_left), []
    status = subprocess.call(
        [sys.executable, "-m", "pytest", *map(str, options), *_from_folder(session.config, tests)],
        cwd=session.config.invocation_params.dir,
        env={**os.environ, _continues: "1"},
    )
    if status not in (0, 5):
        session.testsfailed += 1
