"""Tests and programs that run on every rank of a simulated job: ``spmd`` and ``spmd_run``."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import isasyncgen, iscoroutine, isgenerator
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, overload

from simmesh import _core, replay_file
from simmesh.exploration import Exploration, Trial, explore, explore_all
from simmesh.replay_file import Replay
from simmesh.report import Part, write
from simmesh.spmd_report import exploration_part, run_part

if TYPE_CHECKING:
    from simmesh.torch.calls import Calls

#: The most ranks of a run.
RANKS_MAX = 10_000


# The options that are whole numbers, and the least of each.
_WHOLE_NUMBERS = (
    ("world_size", 1), ("schedules", 1), ("classes_max", 1), ("jobs", 1), ("seed", None)
)  # fmt: skip
# The options that say how many runs there are.
_OF_MANY_RUNS = ("schedules", "explore", "classes_max", "certificate", "jobs")
# The options of ranks that the test runner sets for the programs that don't.
_OF_THE_RUNNER = ("local", "seats")

#: Where ranks have their seats: threads of this process, or processes forked from it.
SEATS = ("threads", "processes")

#: The ways in which the types of plain tensors are checked.
TYPED = ("strict", "permissive", "strict, global", "permissive, global")


class SpmdFailure(AssertionError):
    """A program failed on its ranks: the text is the report, which ends with the line that
    reproduces it.
    """


@dataclass
class Settings:
    """The options of the test runner: the number of schedules, what is explored and by how many
    processes, whether one run may prove all schedules, the operators of ranks where a program
    doesn't choose them, whether ranks are threads or processes, one test to replay, and the folder
    for replays.

    ``explored`` is called with the result of each exploration that didn't fail. ``told`` gets the
    part of a report about each test whose exploration failed, if reports are asked for.
    """

    schedules: int | None = None
    explore: str | None = None
    certificate: bool = True
    jobs: int | None = None
    explored: Callable[[str, Exploration], None] = lambda name, found: None
    told: Callable[[str, Part], None] | None = None
    local: str = "plain"
    seats: str = "threads"
    replay: Replay | None = None
    folder: Path = field(default_factory=lambda: Path(tempfile.gettempdir()) / "simmesh")
    spoiled: str | None = None


settings = Settings()


@dataclass(frozen=True)
class Options:
    """The options of a program: the arguments of ``spmd`` and ``spmd_run``."""

    world_size: int = 4
    schedules: int = 20
    explore: str | None = None
    classes_max: int = 10_000
    certificate: bool = True
    jobs: int = 1
    arithmetic: str = "exact"
    release: str | None = None
    seed: int = 0
    isolate: Sequence[str | tuple[Any, str]] = ()
    timeout: float = 60.0
    backend: str = "gloo"
    allow_strided: bool = False
    local: str = field(default_factory=lambda: settings.local)
    check_accesses: bool = True
    typed: str | None = None
    device: str = "cpu"
    seats: str = field(default_factory=lambda: settings.seats)
    run_ahead: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for options that are out of range. The run checks the names of
        arithmetics and releases.
        """
        for name, least in _WHOLE_NUMBERS:
            value = getattr(self, name)
            is_whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not is_whole or (least is not None and value < least):
                bound = "" if least is None else f" of at least {least}"
                raise ValueError(
                    f"[python/spmd] {name}: expected a whole number{bound}, got {value!r}"
                )
        if self.world_size > RANKS_MAX:
            raise ValueError(
                f"[python/spmd] world_size: expected at most {RANKS_MAX}, since each rank is a "
                f"thread, got {self.world_size}"
            )
        if not isinstance(self.timeout, Real) or not 0 <= self.timeout < float("inf"):
            raise ValueError(
                "[python/spmd] timeout: expected seconds, finite and not negative, got "
                f"{self.timeout!r}"
            )
        if self.explore not in (None, "all"):
            raise ValueError(f"[python/spmd] explore: expected 'all' or None, got {self.explore!r}")
        if self.local not in ("plain", "exact"):
            raise ValueError(
                f"[python/spmd] local: expected 'plain' or 'exact', got {self.local!r}"
            )
        if self.typed not in (None, *TYPED):
            raise ValueError(
                f"[python/spmd] typed: expected {', '.join(map(repr, TYPED))} or None, got "
                f"{self.typed!r}"
            )
        if self.device not in ("cpu", "cuda"):
            raise ValueError(f"[python/spmd] device: expected 'cpu' or 'cuda', got {self.device!r}")
        if self.seats not in SEATS:
            raise ValueError(
                f"[python/spmd] seats: expected {' or '.join(map(repr, SEATS))}, got {self.seats!r}"
            )
        if isinstance(self.isolate, str):
            raise ValueError(
                f"[python/spmd] isolate: expected a list of names, got the text {self.isolate!r}"
            )


@dataclass
class Result:
    """The result of ``spmd_run``: each rank's return value, the outcome of the run, and the
    operations that each rank started: ``calls[rank].count("all_reduce")``.

    With ``explore="all"`` they are those of the run that failed, or of the first, and
    ``exploration`` has the rest.
    """

    results: list[Any]
    outcome: _core.Outcome
    calls: list[Calls] = field(default_factory=list)
    exploration: Exploration | None = None

    def expect(
        self, *, calls: Mapping[str, int] | None = None, nbytes: Mapping[str, int] | None = None
    ) -> Result:
        """Expects that each rank started so many operations, and gave them so many bytes, by their
        names. Returns itself. Raises SpmdFailure that names a rank and the lines of its calls, and
        what the run raised.

            simmesh.spmd_run(step, world_size=2).expect(calls={"all_reduce": 1})
        """
        __tracebackhide__ = True
        if not self.outcome.ok:
            raise self.outcome.exception or SpmdFailure(self.outcome.report)
        for rank, each in enumerate(self.calls):
            problem = each.problem(calls or {}, nbytes or {})
            if problem:
                raise SpmdFailure(f"[python/spmd] rank {rank}: {problem}")
        return self


@overload
def spmd(function: Callable[..., Any]) -> Callable[..., None]: ...


@overload
def spmd(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., None]]: ...


def spmd(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Makes a test function run on every rank, under many schedules, with the default process
    group made.

        @simmesh.spmd(world_size=4, schedules=20)
        def test_all_reduce():
            tensor = torch.ones(2)
            dist.all_reduce(tensor)
            assert tensor[0] == 4

    The options are ``world_size``, ``schedules``, ``explore``, ``classes_max``, ``certificate``,
    ``jobs``, ``arithmetic``, ``release``, ``seed``,
    ``isolate``, ``timeout`` (in seconds of wall time for which a rank keeps the turn), ``backend``,
    ``allow_strided``, ``local``, ``check_accesses``, ``typed``, ``device``, ``seats`` and
    ``run_ahead``. With ``seats="processes"`` each rank is a process. With
    ``local="exact"`` every sharding has the bits of one device, and accesses to buffers of
    operations that were not waited for are reported unless ``check_accesses`` is False.
    ``typed="strict"`` checks the types that plain tensors have on mesh axes. ``device="cuda"``
    lets programs that ask for CUDA run on the CPU.

    If nothing of the first run depends on the order, it stands for all schedules and no other is
    made, unless ``certificate`` is False. ``explore="all"`` runs one schedule of each class of
    equivalent ones, and fails if there are more than ``classes_max``. With ``jobs`` so many forked
    processes run the schedules, which changes no result.

    All schedules must give equal bits, of the collectives' results and of the ranks' return values.
    The first failure is shortened and raised: a rank's exception as itself with the report as a
    note, everything else as SpmdFailure.
    """
    if function is None:
        return lambda test: spmd(test, **options)
    chosen = Options(**options)

    @functools.wraps(function)
    def test(*arguments: Any, **keywords: Any) -> None:
        check(functools.partial(function, *arguments, **keywords), chosen)

    return test


def spmd_run(
    function: Callable[..., Any],
    *arguments: Any,
    schedule: str = "fifo",
    schedule_seed: int = 0,
    report: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Result:
    """Runs ``function(*arguments)`` on every rank under one schedule; returns the results and
    the outcome.

    ``schedule_seed`` is the seed of a schedule that has random choices and names no seed, such as
    ``pct:3``. The other options are those of ``spmd``: with ``explore="all"`` all classes of
    schedules are run. A failure doesn't raise: the outcome has it. ``report`` is a file of HTML for
    what came of the run: see docs/report.md.
    """
    from simmesh.torch import Schedule

    chosen = Options(**options)
    if chosen.explore is not None:
        program = functools.partial(function, *arguments)
        found = _explore(program, chosen, "")
        trial = found.failure or found.first
        if report is not None:
            text = "" if found.failure is None else _report(program, found, chosen, "")
            _write_report(report, exploration_part(_name_of(function), found, text))
        return Result(trial.results, trial.outcome, list(trial.calls), found)
    trial = _trial(
        functools.partial(function, *arguments), chosen, "", Schedule(schedule, schedule_seed)
    )
    if report is not None:
        _write_report(report, run_part(_name_of(function), trial.outcome, trial.calls))
    return Result(trial.results, trial.outcome, list(trial.calls))


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))


def _write_report(path: str | os.PathLike[str], part: Part) -> None:
    write(Path(path), f"simmesh {part.name}", [part])


def check(program: Callable[[], Any], options: Options) -> None:
    """Explores the schedules of a program, or replays one, and raises the failure."""
    __tracebackhide__ = True

    name = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    found = _explore(program, options, name)
    if found.failure is not None:
        _fail(program, found, options, name)
    if found.looks_for_all and not found.complete:
        raise SpmdFailure(
            f"[python/spmd] expected at most {options.classes_max} classes of equivalent "
            f"schedules, got about {found.estimate:.3g}: none of {found.schedules} failed; "
            "classes_max=N runs more, schedules=N only some"
        )
    settings.explored(name, found)


def _explore(program: Callable[[], Any], options: Options, name: str) -> Exploration:
    from simmesh.torch import Schedule, schedules_to_try

    run = functools.partial(_trial, program, options, name)
    replay = settings.replay
    if replay is not None and replay.test == name:
        _expect_options_of(replay, options)
        schedules = [Schedule("fifo"), Schedule(replay.schedule, replay.schedule_seed)]
        return explore(run, schedules, 0, lambda trial: False)

    def shrinkable(trial: Trial) -> bool:
        return replay is None and trial.outcome.kind not in ("blocked", "interrupt")

    runs_max = 0 if replay is not None else 200
    if settings.explore or options.explore:
        others = list(schedules_to_try(40))
        return explore_all(run, options.classes_max, runs_max, shrinkable, others)
    schedules = list(schedules_to_try(settings.schedules or options.schedules))
    takes_certificate = settings.certificate and options.certificate and len(schedules) > 1
    jobs = settings.jobs or options.jobs
    return explore(run, schedules, runs_max, shrinkable, takes_certificate, jobs)


def _expect_options_of(replay: Replay, options: Options) -> None:
    for name in ("world_size", "arithmetic", "seed"):
        expected, got = getattr(replay, name), getattr(options, name)
        if expected != got:
            raise ValueError(
                f"[python/spmd] {name}: expected {expected!r}, with which the schedule of "
                f"--simmesh-replay was found, got {got!r}"
            )


def _trial(
    program: Callable[[], Any],
    options: Options,
    test: str,
    schedule: Any,
    watch: str | None = None,
    search: _core.Search | None = None,
) -> Trial:
    import torch.distributed as dist

    from simmesh.torch import run
    from simmesh.torch.fingerprint import fingerprint
    from simmesh.torch.isolation.threads import end_of_program

    if settings.spoiled is not None:
        raise RuntimeError(
            "[python/spmd] expected a process whose ranks all ended, got one in which a rank "
            "still blocks: "
            f"{settings.spoiled}"
        )

    def body(rank: int) -> Any:
        dist.init_process_group(options.backend)
        with _types_checked(options.typed):
            result = program()
        if iscoroutine(result) or isgenerator(result) or isasyncgen(result):
            raise TypeError(
                "[python/spmd] expected a function that runs when it is called, got one whose body "
                f"has not run: it returns a {type(result).__name__}"
            )
        _core.record(fingerprint(result))
        end_of_program()
        if dist.is_initialized():
            dist.destroy_process_group()
        return result

    text, seed = _schedule_words(schedule)
    if text.startswith("choices:split:"):
        watch = "asks"  # its steps are those of an exploration
    call = _call(program, text, seed, options)
    release: dict[str, Any] = {} if options.release is None else {"release": options.release}
    ran = run(
        body, options.world_size, schedule=schedule or text, seed=options.seed,
        isolate=options.isolate, watch=watch, watched=program, search=search,
        allow_strided=options.allow_strided, arithmetic=options.arithmetic, timeout=options.timeout,
        local=options.local, check_accesses=options.check_accesses, device=options.device,
        seats=options.seats, run_ahead=options.run_ahead,
        reproduce=call_of_test(test) if test else call, **release,
    )  # fmt: skip
    if ran.outcome.kind == "blocked":
        settings.spoiled = ran.outcome.message
    return Trial(schedule, ran.outcome, ran.results, ran.calls, ran.unwatched)


def _types_checked(typed: str | None) -> contextlib.AbstractContextManager[None]:
    if typed is None:
        return contextlib.nullcontext()
    from simmesh.typed import typecheck

    mode, _, scope = typed.partition(", ")
    return typecheck(mode, local=scope != "global")


def _fail(program: Callable[[], Any], found: Exploration, options: Options, name: str) -> None:
    __tracebackhide__ = True
    failure = found.failure
    assert failure is not None
    report = _report(program, found, options, name)
    if settings.told is not None:
        settings.told(name, exploration_part(name, found, report))
    error = failure.outcome.exception
    # An error that the core raises in a rank (a mismatch) has its report in its own text already.
    if error is None:
        raise SpmdFailure(report)
    if hasattr(error, "add_note"):
        error.add_note(report)
    raise error


def _report(program: Callable[[], Any], found: Exploration, options: Options, name: str) -> str:
    from simmesh.torch.failure_text import notes
    from simmesh.torch.isolation import packages

    failure = found.failure
    assert failure is not None
    lines = []
    if found.differs:
        ranks = [
            rank for rank, (one, other) in enumerate(zip(found.first.results, failure.results))
            if _word(one) != _word(other)
        ]  # fmt: skip
        what = f"the results of ranks {ranks} differ" if ranks else "results of collectives differ"
        lines.append(
            f"[python/spmd] expected equal bits under every schedule, got data hash "
            f"{failure.outcome.data_hash:016x} after {found.first.outcome.data_hash:016x}: {what}"
        )
    else:
        lines.append(_without_reproduction(failure.outcome.report))
    text, seed = _schedule_words(failure.schedule)
    lines.append(f"schedule: {text} (the first of {found.schedules} that failed, shortened)"
                 if text.startswith("guided:") else f"schedule: {text}")  # fmt: skip
    lines += notes(None, packages.isolated())
    lines.append(f"reproduce: {_reproduction(program, text, seed, options, name)}")
    return "\n".join(lines)


def _word(value: Any) -> int:
    from simmesh.torch.fingerprint import fingerprint

    return fingerprint(value)


def _schedule_words(schedule: Any) -> tuple[str, int]:
    if schedule is None:  # the next class of a search
        return "fifo", 0
    return (schedule, 0) if isinstance(schedule, str) else (schedule.text, schedule.seed)


def _reproduction(
    program: Callable[[], Any], text: str, seed: int, options: Options, name: str
) -> str:
    if not name:
        return _call(program, text, seed, options)
    replay = Replay(name, text, seed, options.world_size, options.arithmetic, options.seed)
    file = replay_file.write(replay, settings.folder)
    return call_of_test(name, "--simmesh-replay", str(file))


def call_of_test(test: str, *more: str) -> str:
    """The command that runs a test of pytest again on ranks of the same kind."""
    words = ["pytest", test]
    for each in _OF_THE_RUNNER:
        if getattr(settings, each) != getattr(Settings, each):
            words += [f"--simmesh-{each}", getattr(settings, each)]
    return shlex.join([*words, *more])


def _call(program: Callable[[], Any], text: str, seed: int, options: Options) -> str:
    """The call of ``spmd_run`` that runs a program under a schedule."""
    arguments: list[str] = []
    while isinstance(program, functools.partial):
        arguments[:0] = [_brief(each) for each in program.args]
        arguments += [f"{name}={_brief(value)}" for name, value in program.keywords.items()]
        program = program.func
    words: dict[str, Any] = {"schedule": text}
    if seed:
        words["schedule_seed"] = seed
    for each in fields(Options):
        value = getattr(options, each.name)
        is_named = each.name in ("world_size", "arithmetic", "seed")
        default = getattr(settings, each.name) if each.name in _OF_THE_RUNNER else each.default
        if each.name not in _OF_MANY_RUNS and (is_named or value != default):
            words[each.name] = value
    named = [f"{name}={value!r}" for name, value in words.items()]
    function = getattr(program, "__qualname__", type(program).__qualname__)
    return f"simmesh.spmd_run({', '.join([function, *arguments, *named])})"


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"<{type(value).__qualname__}>"


def _without_reproduction(report: str) -> str:
    # The core's line is for the command of simmesh, which can't run a test.
    return "\n".join(
        line for line in report.rstrip("\n").split("\n") if not line.startswith("reproduce:")
    )
