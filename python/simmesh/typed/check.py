"""Runs a typed program on ranks, and compares its types with what the ranks really hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from torch.distributed.device_mesh import init_device_mesh

from simmesh.one_device.layout import Layout, layouts_of
from simmesh.spmd import SpmdFailure, spmd_run
from simmesh.typed.axes import set_current_mesh
from simmesh.typed.recorder import Entry, Key, Recorder
from simmesh.typed.state import typecheck
from simmesh.typed.verdict import TypedCheck

Program = Callable[..., Any]


def check(
    program: Program,
    *,
    ranks: int | None = None,
    layout: Mapping[str, int] | None = None,
    mode: str | None = None,
    one_device: bool = True,
    **options: Any,
) -> TypedCheck:
    """Runs a program on ranks with exact arithmetic, and compares the type of each tensor with what
    the ranks hold, forward and backward.

        check(program, layout={"dp": 2, "tp": 2}).check()

    Tensors that are declared R or I must be the same along the axis, and so must gradients of I
    and P. Where the program also runs on one device, terms of a sum must add up to its tensor, and
    pieces make it. The verdict names the first tensor that lies, with its line.

    Args:
        program: gets a DeviceMesh if it has a parameter. Its types are those of this package or of
            spmd_types, whose programs run unedited.
        ranks: the number of ranks, as one axis "tp".
        layout: the names and sizes of the mesh's axes instead.
        mode: "strict" or "permissive" also checks the types as the program runs, on the mesh. None
            leaves that to the program.
        one_device: also runs a program that takes a mesh on one device.
        options: those of ``spmd_run``.

    Raises what the program raises, such as SpmdTypeError for types that don't fit.
    """
    __tracebackhide__ = True
    from simmesh.typed.judge import Judge

    if layout is None and ranks is not None:
        layout = {"tp": ranks}
    (chosen,) = layouts_of(None if layout is None else [layout], ranks)
    takes_mesh = bool(inspect.signature(program).parameters)
    held = _observe(program, chosen, takes_mesh, mode, options)
    one, note = None, "not compared with one device"
    if one_device:
        one, note = _on_one_device(program, chosen.on_one_device(), takes_mesh, mode, options)
    verdict = Judge(held, chosen, one).verdict()
    if one is None:
        verdict.notes.insert(0, note)
    return verdict


def checked(**options: Any) -> Callable[[Program], Callable[..., None]]:
    """Makes a program a test, which fails with the report if a tensor isn't what it declares.

    @simmesh.typed.checked(layout={"tp": 4})
    def test_block(mesh): ...

    The options are those of ``check``.
    """

    def decorate(program: Program) -> Callable[..., None]:
        @functools.wraps(program)
        def test() -> None:
            __tracebackhide__ = True
            check(program, **options).check()

        test.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        return test

    return decorate


def _observe(
    program: Program, layout: Layout, takes_mesh: bool, mode: str | None, options: dict[str, Any],
    is_whole: bool = False,
) -> list[dict[Key, Entry]]:  # fmt: skip
    """Each rank's typed tensors; all tensors on one device, where no axis has a type."""
    __tracebackhide__ = True
    from simmesh.typed.spmd_types_reader import observed_package

    def body() -> dict[Key, Entry]:
        recorder = Recorder(is_whole)
        mesh = None
        if takes_mesh:
            mesh = init_device_mesh("cpu", layout.sizes, mesh_dim_names=layout.names)
        typed = nullcontext() if mode is None else typecheck(mode)
        current = nullcontext() if mode is None or mesh is None else set_current_mesh(mesh)
        with recorder.recording(), current, typed:
            program(*([mesh] if takes_mesh else []))
        return recorder.typed_entries()

    with observed_package():
        ran = spmd_run(body, world_size=layout.ranks, **{"local": "exact", **options})
    outcome = ran.outcome
    if outcome.ok:
        return ran.results
    report = f"[typed] the program failed on {layout.text}:\n{outcome.report}"
    if outcome.exception is None:
        raise SpmdFailure(report)
    raise outcome.exception


def _on_one_device(
    program: Program, layout: Layout, takes_mesh: bool, mode: str | None, options: dict[str, Any]
) -> tuple[dict[Key, Entry] | None, str]:
    """The tensors of one device; None, and the reason, for a program that doesn't run there."""
    if not takes_mesh:
        return None, "the program takes no mesh, so it wasn't run on one device"
    try:
        return _observe(program, layout, True, mode, options, is_whole=True)[0], ""
    except Exception as error:
        first = str(error).partition("\n")[0]
        return None, f"the program doesn't run on one device: {type(error).__name__}: {first}"
