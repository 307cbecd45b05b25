"""Records a user's own model under ``fully_shard``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from torch import nn

from simmesh.recording import cases, formula, ranks
from simmesh.recording.fsdp import description, events, layout, nodes, questions, train

Wrap = str | Mapping[str, Any]
KINDS = ("fsdp_events", "fsdp_layout", "train")


def fsdp(
    model_builder: Callable[[], nn.Module],
    *,
    mesh: Sequence[int] = (2,),
    wrap: Sequence[Wrap] | Callable[[str, nn.Module], bool] = (),
    reshard_after_forward: bool | int | None = None,
    mp_policy: Mapping[str, Any] | None = None,
    input_shape: Sequence[int] = (),
    steps: int = 2,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    name: str = "model",
    out: str | os.PathLike[str] | None = None,
    settings: ranks.Settings = ranks.Settings(),
) -> list[cases.Case]:
    """Records PyTorch's ``fully_shard`` on a model, as cases that ``simmesh verify`` can run.

        simmesh.recording.fsdp(
            build, mesh=(2, 2), wrap=["0", "2"], input_shape=[8, 16], out="own.jsonl"
        )

    ``wrap`` names the modules that are wrapped before the root, in this order: names, or the fields
    of a call of fully_shard (``{"modules": ["0"], "reshard_after_forward": 2}``); or a function of
    name and module. The values of parameters and inputs come from formulas. fsdp_layout takes any
    model; fsdp_events and train take nn.Sequential of linear layers, activations, layer norms and
    embeddings, because a case must be able to say what the model computes, and need
    ``input_shape``, the shape of the whole batch.
    """
    model = model_builder()
    wraps = _wraps(model, wrap, reshard_after_forward, mp_policy)
    recorded = []
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(
                f"[recording/own_model] expected one of the kinds {', '.join(KINDS)}, got {kind!r}"
            )
        if kind != "fsdp_layout" and not input_shape:
            raise ValueError(f"[recording/own_model] expected an input_shape for {kind}, got none")
        if kind == "fsdp_layout":
            skeleton = description.skeleton_of(model)
            case = layout.answer(
                questions.layout_case(f"{kind}/{name}", skeleton, mesh, wraps, seed), settings
            )
        else:
            node = description.nodes_of(model)
            case = questions.case_of(f"{kind}/{name}", mesh, node, wraps, "unit", scale=0.5)
            x = _input(node, input_shape, seed)
            if kind == "fsdp_events":
                case |= {"kind": kind, "program": questions.program(steps, x)}
            else:
                case |= _training(model_builder, x, seed, steps)
            answer = events.answer if kind == "fsdp_events" else train.answer
            case = answer(case, settings, lambda asked: nodes.filled(model_builder(), asked))
        named = {"kind": case["kind"], "id": case["id"], "source": ranks.source()}
        recorded.append({**named, **case})
    if out is not None:
        cases.write(recorded, out)
    return recorded


def _wraps(
    model: nn.Module,
    wrap: Sequence[Wrap] | Callable[[str, nn.Module], bool],
    reshard_after_forward: bool | int | None,
    mp_policy: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    chosen: list[Wrap]
    if callable(wrap):
        # Submodules come first: parameters belong to the innermost call.
        chosen = [
            name
            for name, module in reversed(list(model.named_modules()))
            if name and wrap(name, module)
        ]
    else:
        chosen = list(wrap)
    common: dict[str, Any] = {}
    if reshard_after_forward is not None:
        common["reshard_after_forward"] = reshard_after_forward
    if mp_policy is not None:
        common["mp_policy"] = dict(mp_policy)
    calls = [
        dict(entry) if isinstance(entry, Mapping) else {"modules": [entry]}
        for entry in [*chosen, ""]
    ]
    return [{**common, **call} for call in calls]


def _input(node: Mapping[str, Any], shape: Sequence[int], seed: int) -> dict[str, Any]:
    first = node
    while first.get("children"):
        first = first["children"][0]
    if first["kind"] == "embedding":
        return {
            "shape": list(shape),
            "dtype": "int64",
            "rule": "index",
            "below": first["num"],
            "seed": 5 + seed,
        }
    return {"shape": list(shape), "rule": "unit", "seed": 5 + seed}


def _training(
    model_builder: Callable[[], nn.Module], x: dict[str, Any], seed: int, steps: int
) -> dict[str, Any]:
    output = model_builder().double()(formula.values(x["shape"], x, x.get("dtype", "float64")))
    run = questions.training(1, 1, 1, seed, rule="unit", steps=steps, dtype="float64")
    optimizer = {
        "name": "sgd",
        "lr": 0.125,
        "momentum": 0.0,
        "dampening": 0.0,
        "weight_decay": 0.0,
        "nesterov": False,
    }
    target = {**run["target"], "shape": list(output.shape)}
    return {**run, "input": x, "target": target, "optimizer": optimizer}
