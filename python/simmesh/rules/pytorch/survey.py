"""Judges all rows of PyTorch's rules for some calls."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard
from torch.utils import _pytree as pytree

from simmesh.rules.pytorch.placed import Unsupported
from simmesh.rules.pytorch.propagation import (
    Answer,
    Call,
    Placements,
    Propagation,
    communicates,
    is_decomposed,
    rules_of_pytorch,
)
from simmesh.rules.pytorch.samples import prepared
from simmesh.rules.pytorch.trial import Mismatch, Trial, judged, run_whole

Op = Any  # torch._ops.OpOverload

# Placements of the inputs that are asked for on one mesh dim, and pairs of rows on two.
_ASKED_MAX = 48
_PAIRS_MAX = 12
# Placements for which a program runs on ranks, where PyTorch's handler isn't a rule.
_RUN_MAX = 24
# A rule that PyTorch derives is traced for every combination of placements, at each question; so
# many traces are made for a call on a mesh.
_TRACES_MAX = 100


@dataclass
class Finding:
    """A row that PyTorch claims and that values contradict."""

    op: str
    row: str
    mesh: tuple[int, ...]
    call: str
    kind: str
    what: str
    problem: str = ""
    index: tuple[int, ...] | None = None
    expected: Any = None
    got: Any = None
    on_ranks: str = ""

    @property
    def key(self) -> str:
        """The operator and row, as the recorded list has them."""
        return f"{self.op}: {self.row}"

    @property
    def example(self) -> str:
        """The element and its values, or the problem."""
        fields = (self.kind, self.what, self.problem, self.index, self.expected, self.got)
        return Mismatch(*fields).text

    @property
    def text(self) -> str:
        """The counter-example in a line."""
        mesh = "x".join(map(str, self.mesh))
        return f"{self.op}  {self.row}  mesh {mesh}  {self.call}  {self.example}"


@dataclass
class Survey:
    """The rows that were judged: rows by verdict, and everything that wasn't, by reason."""

    trials: int = 0
    rows: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    unasked: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    operators: set[str] = field(default_factory=set)

    def note(self, key: str, verdict: str) -> None:
        """Notes a verdict on a row; a worse one stays."""
        order = ("confirmed", "rounding", "unsupported", "unreached", "wrong")
        known = self.rows.get(key, "confirmed")
        self.rows[key] = max(known, verdict, key=order.index)

    def merge(self, other: Survey) -> None:
        """Adds another survey, such as that of another unit."""
        self.trials += other.trials
        for key, verdict in other.rows.items():
            self.note(key, verdict)
        have = {finding.key for finding in self.findings}
        self.findings += [finding for finding in other.findings if finding.key not in have]
        self.refused += other.refused
        self.unasked += other.unasked
        self.operators |= other.operators
        for op, reason in other.skipped.items():
            self.skipped.setdefault(op, reason)
        for op in self.operators:
            self.skipped.pop(op, None)


def name_of(op: Op) -> str:
    """The operator's name with its overload."""
    return str(op)


def reason_to_skip(op: Op) -> str | None:
    """The reason why an operator has no values to judge; None where it has."""
    name = op._schema.name.split("::")[1]
    if "empty" in name or name in ("resize_", "resize_as_", "set_"):
        return "returns memory that nobody wrote"
    return None


def call_text(call: Call) -> str:
    """The arguments of a call, with shapes for tensors."""

    def text(value: Any) -> str:
        if isinstance(value, Tensor):
            kind = "" if value.dtype == torch.float64 else f" {str(value.dtype)[6:]}"
            return f"{list(value.shape)}{kind}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(text, value))}]"
        return str(value)

    named = [f"{name}={text(value)}" for name, value in call.kwargs.items()]
    return f"({', '.join([*map(text, call.args), *named])})"


def _alphabet(tensor: Tensor) -> list[Placement]:
    found: list[Placement] = [Replicate(), *map(Shard, range(tensor.dim()))]
    if tensor.dtype == torch.bool:
        return found
    reductions = ["sum", "max", "min"]
    if tensor.is_complex():
        reductions = ["sum"]
    if tensor.is_floating_point():
        reductions.append("avg")
    return [*found, *map(Partial, reductions)]


def _traces(call: Call, placements: Placements) -> int:
    """The combinations that PyTorch traces to derive a rule, as in its candidates: each tensor with
    all placements of the question, and cut along each of its dims where some tensor is cut.
    """
    kinds = {placement for each in placements for placement in each} | {Replicate()}
    is_cut = any(isinstance(kind, Shard) for kind in kinds)
    count = 1
    for tensor in call.tensors:
        own = set(map(Shard, range(tensor.dim()))) if is_cut else set()
        count *= len(kinds | own)
    return count


def _questions(call: Call) -> list[tuple[Placement, ...]]:
    """Placements of the inputs to ask for: all, or where those are many, all of one kind, one
    changed at a time, and some at random.
    """
    alphabets = [_alphabet(tensor) for tensor in call.tensors]
    total = 1
    for alphabet in alphabets:
        total *= len(alphabet)
    if total <= _ASKED_MAX:
        return list(itertools.product(*alphabets))
    found: dict[tuple[Placement, ...], None] = {}
    kinds = list(dict.fromkeys(itertools.chain(*alphabets)))
    for kind in kinds:
        found[tuple(kind if kind in each else Replicate() for each in alphabets)] = None
    for at, alphabet in enumerate(alphabets[:4]):
        for placement in alphabet:
            row: list[Placement] = [Replicate()] * len(alphabets)
            row[at] = placement
            found[tuple(row)] = None
    choose = random.Random(0)
    for _ in range(_ASKED_MAX - len(found)):
        found[tuple(choose.choice(alphabet) for alphabet in alphabets)] = None
    return list(found)


def on_one_dim(row: Sequence[Placement]) -> Placements:
    """Placements on one mesh dim, for each tensor a tuple."""
    return tuple((placement,) for placement in row)


class Judge:
    """Judges all that PyTorch claims for calls, and notes it in a survey."""

    def __init__(self) -> None:
        self.survey = Survey()
        self._rules = rules_of_pytorch()

    def judge(self, call: Call) -> None:
        """Judges one call on 2 and 3 ranks and on 2x2."""
        call = prepared(call)
        name = name_of(call.op)
        reason = reason_to_skip(call.op) or self._problem_of_whole(call)
        if reason is not None:
            if name not in self.survey.operators:
                self.survey.skipped.setdefault(name, reason)
            return
        self.survey.skipped.pop(name, None)
        if communicates(call.op):
            self._run_on_ranks(call, name)
            return
        accepted = self._ask_on_two(call, name)
        if accepted is None:
            return
        self.survey.operators.add(name)
        self._ask(call, (3,), [on_one_dim(row) for row in accepted])
        held = [
            row for row, text in accepted.items()
            if self.survey.rows[f"{name}: {text}"] in ("confirmed", "rounding")
        ]  # fmt: skip
        self._ask(call, (2, 2), list(_pairs(held)))

    def _run_on_ranks(self, call: Call, name: str) -> None:
        """Judges an operator that PyTorch runs by a handler of its own: as a program on ranks,
        since it may communicate.
        """
        from simmesh.rules.pytorch.ranks import run_on_ranks

        self.survey.operators.add(name)
        for mesh in ((2,), (3,)):
            for row in _questions(call)[:_RUN_MAX]:
                try:
                    found = run_on_ranks(call, mesh, on_one_dim(row))
                except (RuntimeError, Unsupported):
                    self.survey.refused["on ranks"] += 1
                    continue
                self.survey.trials += 1
                text = f"{', '.join(map(str, row))} -> by its handler"
                key = f"{name}: {text}"
                self.survey.note(key, "confirmed" if found is None else "wrong")
                if found is not None and key not in {each.key for each in self.survey.findings}:
                    fields = {**asdict(found), "on_ranks": "wrong values"}
                    self.survey.findings.append(
                        Finding(name, text, mesh, call_text(call), **fields)
                    )

    def _problem_of_whole(self, call: Call) -> str | None:
        try:
            first, second = run_whole(call), run_whole(call)
        except Exception as error:
            return f"its samples raise {type(error).__name__}"
        for a, b in zip(
            pytree.tree_leaves((first.outputs, first.changed)),
            pytree.tree_leaves((second.outputs, second.changed)),
        ):
            if isinstance(a, Tensor):
                if a.layout != torch.strided or a.is_quantized:
                    return "returns a tensor that isn't strided"
                if not torch.equal(a.nan_to_num(), b.nan_to_num()):
                    if torch.Tag.nondeterministic_seeded in call.op.tags:
                        return "draws random numbers"
                    return "isn't a function of its inputs"
        return None

    def _ask_on_two(self, call: Call, name: str) -> dict[tuple[Placement, ...], str] | None:
        """Asks for all placements on 2 ranks. Returns the rows that hold, None if PyTorch has no
        rule.
        """
        propagation = Propagation(call, (2,))
        replicated = on_one_dim([Replicate()] * len(call.tensors))
        try:
            propagation.ask(replicated)
        except NotImplementedError:
            self.survey.refused["no rule"] += 1
            self.survey.skipped.setdefault(
                name, "PyTorch has no rule" if not is_decomposed(call.op)
                else "PyTorch derives no rule from its decomposition",
            )  # fmt: skip
            return None
        except Exception:
            pass
        questions = [on_one_dim(row) for row in _questions(call)]
        if call.op in self._rules:
            questions += propagation.offered(replicated)
        return self._ask(call, (2,), questions)

    def _ask(
        self, call: Call, mesh: tuple[int, ...], questions: Iterable[Placements]
    ) -> dict[tuple[Placement, ...], str]:
        """Judges each row by which PyTorch answers; returns the inputs on the first mesh dim of
        those that hold, with the rows' texts.
        """
        propagation = Propagation(call, mesh)
        seen: set[Any] = set()
        held: dict[tuple[Placement, ...], str] = {}
        for placements in self._affordable(call, dict.fromkeys(questions)):
            try:
                answer = propagation.ask(placements)
            except Exception as error:
                self.survey.refused[type(error).__name__] += 1
                continue
            if answer.key in seen:
                continue
            seen.add(answer.key)
            if self._row(call, mesh, propagation, placements, answer):
                held[tuple(each[0] for each in answer.inputs)] = " -> ".join(answer.key)
        return held

    def _affordable(self, call: Call, questions: Iterable[Placements]) -> Iterator[Placements]:
        """The questions that PyTorch answers in bounded time, and a count of the others."""
        left = _TRACES_MAX
        for placements in questions:
            if call.op not in self._rules:
                traces = _traces(call, placements)
                if traces > left:
                    self.survey.unasked += 1
                    continue
                left -= traces
            yield placements

    def _row(
        self, call: Call, mesh: tuple[int, ...], propagation: Propagation, placements: Placements,
        answer: Answer,
    ) -> bool:  # fmt: skip
        row = " -> ".join(answer.key)
        name = name_of(call.op)
        self.survey.trials += 1
        trial = Trial(call, mesh, propagation, placements, answer)
        verdict, found = judged(trial)
        if verdict == "wrong" and found is not None:
            verdict = self._find(name, row, mesh, call, found, placements)
        self.survey.note(f"{name}: {row}", verdict)
        return verdict in ("confirmed", "rounding")

    def _find(
        self, name: str, row: str, mesh: tuple[int, ...], call: Call, found: Mismatch,
        placements: Placements,
    ) -> str:  # fmt: skip
        """Notes a wrong row, unless PyTorch's own program with these placements is right: it then
        reaches other operators.
        """
        finding = Finding(name, row, mesh, call_text(call), **asdict(found))
        if any(each.key == finding.key for each in self.survey.findings):
            return "wrong"
        from simmesh.rules.pytorch.ranks import outcome_on_ranks

        finding.on_ranks = outcome_on_ranks(call, mesh, placements)
        if finding.on_ranks == "right":
            return "unreached"
        self.survey.findings.append(finding)
        return "wrong"


def _pairs(rows: Sequence[tuple[Placement, ...]]) -> Iterator[Placements]:
    """Pairs of rows on two mesh dims: each with itself, and some at random."""
    kept = [row for row in rows if any(not isinstance(each, Replicate) for each in row)]
    pairs = [(row, row) for row in kept]
    others = [(a, b) for a, b in itertools.product(kept, repeat=2) if a != b]
    random.Random(0).shuffle(others)
    for first, second in (*pairs[: _PAIRS_MAX // 2], *others[: _PAIRS_MAX // 2]):
        yield tuple(zip(first, second))
