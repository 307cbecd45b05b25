"""Judges a sharding rule of a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from simmesh.rules.communication import may_communicate
from simmesh.rules.sizes import PIECES
from simmesh.rules.verdict import RuleCheck

if TYPE_CHECKING:
    from simmesh.rules.forms import Judged

_MESHES = ((2,), (3,), (4,), (2, 2))
# One rank judges all rows without giving up its turn.
_SECONDS_MAX = 24 * 3600.0
_SCHEDULES = ("fifo", "seeded:1", "pct:3")


def rulecheck(
    function: Any,
    rule: Any = None,
    inputs: Sequence[Any] | None = None,
    *,
    whole: Callable[..., Any] | None = None,
    meshes: Sequence[Sequence[int]] | None = None,
    values: str = "any",
    backward: bool = True,
    unclaimed: bool | None = None,
    pieces: Sequence[str] = PIECES,
    seed: int = 0,
    schedules: Sequence[str] = _SCHEDULES,
    ranks: bool | None = None,
) -> RuleCheck:
    """Judges a sharding rule of a function by values, with no tolerance.

    Args:
        function: of tensors, returns one or several; or one that ``local_map`` wrapped, or an
            autograd function. One that communicates gets the mesh as its argument named mesh, or
            the group as group, or asks ``simmesh.rule_mesh()``.
        rule: rows of placements, as text ("S(0), R -> S(0)", one a line or in a list), as
            PyTorch's objects, or as types of spmd_types ("I, S(0) -> S(1)"); factors
            ("mk, kn -> mn", or Shardy's text); a function under ``register_sharding`` or a
            single-dim strategy; a ``local_map`` or a dict of its placements. None takes the rule
            that the function has: that of PyTorch for an operator, the placements of a local_map,
            the types of an autograd function with a hook of spmd_types.
        inputs: for each input letters for its dims ("mk"), or a shape. The sizes of letters vary,
            numbers beside letters don't; where no input has letters, equal sizes vary together. A
            RuleInput also has the values of indices and masks; a RuleArgument is no tensor, and
            RuleSizes are the sizes of an output, which are others on each rank. An
            operator of PyTorch without a rule and inputs is judged on PyTorch's own samples.
        whole: gives what is right for whole inputs; by default the function itself, on one rank.
        meshes: sizes of the meshes; a mesh of two dims has every pair of rows.
        values: "any" draws floating numbers and computes by exact arithmetic; "whole" draws small
            whole numbers and calls PyTorch's own operators, for functions that are exact on them.
        backward: also judges the gradients of the inputs.
        unclaimed: also looks for rows that hold and that the rule doesn't have; None does so for
            functions that don't communicate.
        pieces: which sizes of cut dims are judged: "even" ones, "uneven" ones, "few" with ranks
            that hold nothing, and "none" with no rank that holds anything.
        seed: of the values.
        schedules: those under which a function that communicates runs.
        ranks: runs the function on simulated ranks, or doesn't; None does so where it names
            torch.distributed or takes a mesh or a group.

    Raises ValueError for a rule or inputs that can't be read.
    """
    _check_options(meshes, values, pieces, schedules)
    if inputs is None and rule is None and hasattr(function, "_schema"):
        options = {
            "whole": whole, "meshes": meshes, "values": values, "backward": backward,
            "unclaimed": unclaimed, "pieces": pieces, "seed": seed, "ranks": ranks,
        }  # fmt: skip
        return _judge_samples(function, options)
    from simmesh.rules.forms import read

    judged = read(function, rule, inputs)
    chosen = _meshes(judged, meshes)
    on_ranks = ranks
    if on_ranks is None:
        on_ranks = whole is not None or judged.call.takes_ranks
        on_ranks = on_ranks or may_communicate(judged.call.function)
    are_whole = values == "whole"
    if not on_ranks:
        check = _judge_apart(
            judged, chosen, pieces, are_whole, backward, unclaimed is not False, seed
        )
        if check is not None or ranks is False:
            assert check is not None
            return check
    from simmesh.rules.rank_judge import RankJudge

    by_ranks = RankJudge(judged, pieces, are_whole, backward, seed)
    by_ranks.prepare(whole, schedules)
    return by_ranks.judge(chosen, unclaimed is True)


def _judge_apart(
    judged: Judged,
    meshes: Sequence[Sequence[int]],
    pieces: Sequence[str],
    are_whole: bool,
    backward: bool,
    unclaimed: bool,
    seed: int,
) -> RuleCheck | None:
    """Judges a function that doesn't communicate on the pieces of each rank, one after another.
    Returns None if it does communicate.
    """
    from simmesh.rules.local_judge import LocalJudge

    def judge() -> RuleCheck | None:
        return LocalJudge(judged, pieces, are_whole, backward, seed).judge(meshes, unclaimed)

    if are_whole:
        return judge()
    from simmesh.torch import rank_state
    from simmesh.torch.exact import one_device

    def judge_and_look() -> RuleCheck | None:
        check = judge()
        return check if rank_state.of_rank().started == 0 else None

    found: RuleCheck | None = one_device(judge_and_look, timeout=_SECONDS_MAX)
    return found


def _judge_samples(operator: Any, options: dict[str, Any]) -> RuleCheck:
    """The verdict on an operator's own rule for the calls that PyTorch's samples make."""
    from simmesh.rules.samples import sample_calls

    total = RuleCheck(str(operator))
    for call in sample_calls(operator):
        function = functools.partial(operator, **call.keywords) if call.keywords else operator
        try:
            total.add(rulecheck(function, None, call.inputs, **options))
        except ValueError as error:
            total.left_out.append(f"a sample: {error}")
    total.refuted.sort(key=lambda each: each.order)
    return total


def _check_options(
    meshes: Sequence[Sequence[int]] | None,
    values: str,
    pieces: Sequence[str],
    schedules: Sequence[str],
) -> None:
    for mesh in meshes or ():
        if not mesh or min(mesh) < 1:
            raise ValueError(f"[rules] expected sizes of a mesh of at least 1, got {mesh!r}")
    if values not in ("any", "whole"):
        raise ValueError(f"[rules] values: expected 'any' or 'whole', got {values!r}")
    unknown = [kind for kind in pieces if kind not in PIECES]
    if unknown or not pieces or isinstance(pieces, str):
        raise ValueError(f"[rules] pieces: expected some of {', '.join(PIECES)}, got {pieces!r}")
    if isinstance(schedules, str) or not schedules:
        raise ValueError(f"[rules] schedules: expected a list of schedules, got {schedules!r}")


def _meshes(judged: Judged, meshes: Sequence[Sequence[int]] | None) -> list[tuple[int, ...]]:
    """The meshes in order, the smallest first. There is one for each joint claim."""
    chosen = {tuple(mesh) for mesh in (_MESHES if meshes is None else meshes)}
    for dims in {len(rows) for rows in judged.rule.joint}:
        if any(len(mesh) == dims for mesh in chosen):
            continue
        if meshes is not None:
            raise ValueError(
                f"[rules] meshes: expected one of {dims} dims, for which the rule has placements, "
                f"got {list(meshes)!r}"
            )
        chosen.add((2,) * dims)
    return sorted(chosen, key=lambda sizes: (len(sizes), sizes))
