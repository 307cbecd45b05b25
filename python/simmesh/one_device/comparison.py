"""``same_as_one_device``: a program, or a test, on one device and on layouts of ranks."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from simmesh.one_device.layout import Layout, layouts_of
from simmesh.one_device.script import Script
from simmesh.spmd import SpmdFailure, settings, spmd_run

if TYPE_CHECKING:
    from simmesh.one_device.notebook import Key, Notebook
    from simmesh.one_device.operator_at_fault import OperatorAtFault
    from simmesh.one_device.operators import OperatorLog
    from simmesh.one_device.rounding_steps import Taken
    from simmesh.one_device.verdict import Verdict

Program = Callable[..., Any]
_Value = TypeVar("_Value")


class DiffersFromOneDevice(AssertionError):
    """A program has other bits on ranks than on one device. The text is the report;
    ``comparison`` has it in parts.
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison.text)
        self.comparison = comparison


class LimitOfExactArithmetic(UserWarning):
    """A program has other bits on ranks than on one device, which is no fault of the program."""


@dataclass
class Comparison:
    """The verdicts of a program, one for each layout, in the order of the layouts."""

    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        """True if all values have one device's bits."""
        return not any(each.findings for each in self.verdicts)

    @property
    def has_faults(self) -> bool:
        """True if a value differs and no limit explains it."""
        return any(each.faults for each in self.verdicts)

    @property
    def text(self) -> str:
        """The report."""
        from simmesh.one_device.report import report

        return "\n".join(report(each) for each in self.verdicts)


@overload
def same_as_one_device(program: Program, /, **options: Any) -> Comparison: ...


@overload
def same_as_one_device(**options: Any) -> Callable[[Program], Callable[..., None]]: ...


def same_as_one_device(
    program: Program | None = None,
    /,
    *,
    ranks: int | None = None,
    layouts: Iterable[Mapping[str, int]] | None = None,
    recorded: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Any:
    """Runs ``program(mesh)`` on one device and on each layout of ranks, and compares what the
    program computes bit for bit.

        comparison = simmesh.same_as_one_device(train, layouts=[{"dp": 2, "tp": 2}])

    A layout has the names and sizes of a DeviceMesh, which the program gets; on one device each
    dim has size 1. ``ranks=4`` is the layout {"dp": 4}. What is compared: what the program returns
    and gives to ``note``, outputs of modules and their gradients, parameters when a module is
    called first and after each optimizer step, their gradients before clipping and before the
    step, gradient norms, and states of optimizers. Modules are those that the program calls.

    ``recorded`` is a file that ``record_one_device`` wrote: its values take the place of one
    device's run, so that another machine's or version's are compared.

    Without a program it is a decorator of tests, which get the mesh as the argument ``mesh``, or as
    their first. The other options are those of ``spmd_run``: ``schedule``, ``seed``, ``isolate``,
    ``timeout``, ``backend``, ``check_accesses``. Local arithmetic and collectives are exact.

    Raises DiffersFromOneDevice with a report, which names the first value that differs. Where a
    difference is due to a limit of exact arithmetic, it warns with LimitOfExactArithmetic instead.
    An error that a rank raises is raised. Raises ValueError if nothing can be compared.
    """
    chosen = layouts_of(layouts, ranks)
    for name in ("world_size", "schedules"):
        if name in options:
            raise ValueError(
                f"[one_device] expected ranks and layouts, got the option {name} of spmd"
            )
    if program is not None:
        return _compare(program, chosen, options, recorded)

    def decorate(test: Program) -> Callable[..., None]:
        signature = inspect.signature(test)
        name = _name_of_mesh(list(signature.parameters))

        @functools.wraps(test)
        def compared(*arguments: Any, **keywords: Any) -> None:
            __tracebackhide__ = True
            _compare(
                lambda mesh: test(*arguments, **{name: mesh}, **keywords), chosen, options, recorded
            )

        # A runner of tests mustn't take the mesh for a fixture.
        others = [each for each in signature.parameters.values() if each.name != name]
        compared.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        del compared.__wrapped__
        return compared

    return decorate


def _name_of_mesh(names: list[str]) -> str:
    """The parameter of a test that gets the mesh: "mesh", or else the first but self."""
    others = [name for name in names if name != "self"]
    if not others:
        raise TypeError("[one_device] expected a test that takes the mesh, got one without")
    return "mesh" if "mesh" in others else others[0]


def note(name: str, value: _Value, *, whole: bool = False) -> _Value:
    """Notes a value of a program that ``same_as_one_device`` runs, to be compared with one
    device's: a tensor, a number, or containers of them. Elsewhere it does nothing. Returns the
    value.

        loss = simmesh.note("loss", loss)

    A value may be cut over ranks, or be a part of a sum on each, unless it is said to be
    ``whole``: then a part of a sum is a fault, as it is for gradients of parameters.
    """
    notebooks = sys.modules.get("simmesh.one_device.notebook")
    notebook = None if notebooks is None else notebooks.current()
    if notebooks is not None and notebook is not None:
        notebook.add_all(notebooks.NOTED, name, value, whole)
    return value


def record_one_device(
    program: Program,
    path: str | os.PathLike[str],
    *,
    dims: Sequence[str] = ("dp",),
    **options: Any,
) -> int:
    """Runs ``program(mesh)`` on one device and writes its values to a file, with which
    ``same_as_one_device(..., recorded=path)`` compares later. ``dims`` names the dims of the mesh.
    Returns the number of values.
    """
    from simmesh.one_device.recorded import write

    notebook = observe(program, Layout(tuple(dims), (1,) * len(dims)), options)[0]
    _expect_something(notebook)
    write(notebook, path)
    return len(notebook.entries)


def _compare(
    program: Program, layouts: tuple[Layout, ...], options: dict[str, Any],
    recorded: str | os.PathLike[str] | None,
) -> Comparison:  # fmt: skip
    __tracebackhide__ = True
    from simmesh.one_device.judge import judge
    from simmesh.one_device.recorded import read

    references: dict[Layout, Notebook] = {}
    comparison = Comparison()
    for layout in layouts:
        alone = layout.on_one_device()
        if alone not in references:
            references[alone] = (
                observe(program, alone, options)[0] if recorded is None else read(recorded)
            )
            _expect_something(references[alone])
        ranks = observe(program, layout, options)
        one = references[alone]
        verdict = judge(one, ranks, layout, goes_on=recorded is None)
        if recorded is None:
            one, verdict = _after_rounding_steps(program, one, ranks, verdict, options)
            verdict.operator = _operator_at_fault(program, verdict, one, options)
        if verdict.operator is not None and verdict.operator.is_random:
            verdict.excuse_random_numbers(one, ranks)
        comparison.verdicts.append(verdict)
    if comparison.has_faults:
        raise DiffersFromOneDevice(comparison)
    if not comparison.equal:
        warnings.warn(comparison.text, LimitOfExactArithmetic, stacklevel=3)
    return comparison


def _after_rounding_steps(
    program: Program, one: Notebook, ranks: Sequence[Notebook], verdict: Verdict,
    options: dict[str, Any],
) -> tuple[Notebook, Verdict]:  # fmt: skip
    """Judges what is at fault behind steps of rounding errors against one device that goes on from
    the elements that the ranks have stepped by them.
    """
    from simmesh.one_device.judge import judge

    taken: dict[Key, Taken] = {}
    while verdict.faults and (new := verdict.steps.news(taken)):
        taken |= new
        one = observe(program, verdict.layout.on_one_device(), options, taken=taken)[0]
        one.taken = taken
        verdict = judge(one, ranks, verdict.layout, goes_on=True)
    return one, verdict


def _operator_at_fault(
    program: Program, verdict: Verdict, one: Notebook, options: dict[str, Any]
) -> OperatorAtFault | None:
    """Runs the program again to find the operator that made the first value at fault."""
    window = verdict.window(one)
    if window is None:
        return None
    from simmesh.one_device.operator_at_fault import first_at_fault
    from simmesh.one_device.operators import OperatorLog

    # The first run has checked the accesses to buffers under way.
    options = {**options, "check_accesses": False}
    logs = []
    alone = verdict.layout.on_one_device()
    for layout, taken in ((alone, one.taken), (verdict.layout, None)):
        listeners = [OperatorLog(window) for _ in range(layout.ranks)]
        observe(program, layout, options, listeners, taken)
        logs.append([each.calls for each in listeners])
    return first_at_fault(logs[0][0], logs[1], verdict.layout)


def observe(
    program: Program, layout: Layout, options: dict[str, Any],
    listeners: Sequence[OperatorLog] = (), taken: Mapping[Key, Taken] | None = None,
) -> list[Notebook]:  # fmt: skip
    """Runs a program on a layout; returns each rank's notebook. Raises what a rank raises. One
    device takes elements of parameters from the ranks if they are given.
    """
    __tracebackhide__ = True
    from torch.distributed.device_mesh import init_device_mesh

    from simmesh.one_device.notebook import Notebook
    from simmesh.one_device.observing import observed_calls, run_observed

    notebooks = [Notebook() for _ in range(layout.ranks)]
    for notebook, listener in zip(notebooks, listeners):
        notebook.listener = listener
    for notebook in notebooks:
        notebook.taken = taken or {}
    chosen = {"local": "exact", "seats": settings.seats, **options}
    returns = chosen["seats"] == "processes"

    def body() -> tuple[Notebook, Any] | None:
        import torch.distributed as dist

        mesh = init_device_mesh("cpu", layout.sizes, mesh_dim_names=layout.names)
        notebook = notebooks[dist.get_rank()]
        run_observed(program, mesh, notebook)
        return _sent(notebook) if returns else None

    with observed_calls():
        if isinstance(program, Script):
            ran = _run_script(program, layout, chosen, notebooks)
        else:
            ran = spmd_run(body, world_size=layout.ranks, **chosen)
    outcome = ran.outcome
    if not outcome.ok:
        where = f"on {layout.text}" if layout.ranks > 1 else "on one device"
        report = f"[one_device] the program failed {where}:\n{_without_call(outcome.report)}"
        if outcome.exception is None:
            raise SpmdFailure(report)
        if hasattr(outcome.exception, "add_note"):
            outcome.exception.add_note(report)
        raise outcome.exception
    for rank, sent in enumerate(ran.results):
        if sent is not None:
            _received(notebooks, rank, sent)
    return notebooks


def _sent(notebook: Notebook) -> tuple[Notebook, Any]:
    """The notebook and the calls of its listener, which a rank that is a process returns."""
    return notebook, None if notebook.listener is None else notebook.listener.calls


def _received(notebooks: list[Notebook], rank: int, sent: tuple[Notebook, Any]) -> None:
    """Puts what the process of a rank noted into the notebooks and the rank's listener."""
    listener = notebooks[rank].listener
    notebooks[rank], calls = sent
    if listener is not None:
        listener.calls = calls


def _run_script(
    script: Script, layout: Layout, options: dict[str, Any], notebooks: Sequence[Notebook]
) -> Any:
    """Runs a script, which makes its process groups itself, on each rank."""
    from simmesh.one_device.observing import run_observed
    from simmesh.torch import run

    returns = options["seats"] == "processes"

    def body(rank: int) -> tuple[Notebook, Any] | None:
        run_observed(lambda mesh: script(rank), None, notebooks[rank])
        return _sent(notebooks[rank]) if returns else None

    return run(body, layout.ranks, arithmetic="exact", **options)


def _without_call(report: str) -> str:
    """A report of a run without its last line, which calls a function that isn't the user's."""
    lines = report.rstrip("\n").split("\n")
    return "\n".join(line for line in lines if not line.startswith("reproduce:"))


def _expect_something(notebook: Notebook) -> None:
    tensors = [
        each.snapshot.exact.elements
        for each in notebook.entries.values()
        if each.snapshot is not None
    ]
    if not any(each.numel() for each in tensors):
        raise ValueError(
            "[one_device] expected a program that calls a module, or returns or notes a tensor, "
            "got one with nothing to compare"
        )
