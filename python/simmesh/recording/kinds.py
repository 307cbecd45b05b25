"""The kinds of cases that can be recorded, and how each gets its questions and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Callable

from simmesh.recording import in_place, ranks
from simmesh.recording.cases import Case
from simmesh.recording.dtensor import local_shape, op, op_questions, redistribute
from simmesh.recording.fsdp import events, layout, questions, train


@dataclass(frozen=True)
class Kind:
    """``question(seed, mesh)`` makes a case; ``answer(case, settings)`` adds its answers."""

    question: Callable[[int, Sequence[int]], Case]
    answer: Callable[[Case, ranks.Settings], Case]


KINDS: dict[str, Kind] = {
    "local_shape": Kind(local_shape.question, local_shape.answer),
    "redistribute": Kind(redistribute.question, redistribute.answer),
    "op": Kind(op_questions.op, op.answer),
    "op_grad": Kind(op_questions.op_grad, op.answer),
    "fsdp_events": Kind(questions.events, events.answer),
    "fsdp_layout": Kind(questions.layout, layout.answer),
    "train_exact": Kind(questions.train, train.answer),
    "train": Kind(questions.train, train.answer),
    "in_place": Kind(in_place.question, in_place.answer),
}

#: Words for several kinds.
FAMILIES: dict[str, tuple[str, ...]] = {
    "dtensor": ("local_shape", "redistribute", "op", "op_grad"),
    "fsdp": ("fsdp_events", "fsdp_layout", "train_exact"),
}


def kinds_of(words: Iterable[str]) -> list[str]:
    """Returns the kinds that words name. Raises ValueError for an unknown word."""
    kinds: list[str] = []
    for word in words:
        if word not in FAMILIES and word not in KINDS:
            known = ", ".join(sorted({*FAMILIES, *KINDS}))
            raise ValueError(f"[recording/kinds] expected one of {known}, got {word!r}")
        kinds += FAMILIES.get(word, (word,))
    return list(dict.fromkeys(kinds))


def answered(case: Case, settings: ranks.Settings = ranks.Settings()) -> Case:
    """Returns the case with the answers of PyTorch, whose version ``source`` then names."""
    if case["kind"] not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise ValueError(
            f"[recording/kinds] expected a case of one of the kinds {known}, got {case['kind']!r}"
        )
    named = {"kind": case["kind"], "id": case["id"], "source": ranks.source()}
    return {**named, **KINDS[case["kind"]].answer({**case, **named}, settings)}


def recorded(
    words: Iterable[str],
    seeds: Iterable[int],
    mesh: Sequence[int],
    settings: ranks.Settings = ranks.Settings(),
) -> Iterator[Case]:
    """Random cases of the kinds, one for each seed."""
    kinds = [KINDS[name] for name in kinds_of(words)]
    for seed in seeds:
        for kind in kinds:
            yield answered(kind.question(seed, mesh), settings)
