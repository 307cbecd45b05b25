"""Models of transformers, unedited, have the bits of one device however they are trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

import simmesh

pytest.importorskip("transformers")

import transformers
from transformers.distributed import DistributedConfig

import hugging_face as models
from hugging_face import DECODERS, OTHERS, Form, replicated, sharded, split

FORMS = {
    "DDP": Form(replicated),
    "DDP with micro-batches": Form(replicated, parts=2),
    "DDP with checkpoints": Form(replicated, checkpoints=True),
    "FSDP2": Form(sharded, ({"dp": 2}, {"dp": 4})),
    "FSDP2 with micro-batches": Form(sharded, parts=2),
    "FSDP2 with checkpoints": Form(sharded, checkpoints=True),
    "HSDP": Form(sharded, ({"replicate": 2, "shard": 2},)),
    "bfloat16": Form(models.low_precision),
    "bfloat16 with checkpoints": Form(models.low_precision, checkpoints=True),
}
SPLIT = {
    "TP": Form(split, ({"tp": 2},), is_loss_parallel=True),
    "TP with checkpoints": Form(split, ({"tp": 2},), checkpoints=True, is_loss_parallel=True),
    "TP and FSDP2": Form(split, ({"dp": 2, "tp": 2},), parts=2, is_loss_parallel=True),
}


def expect_equal(program: Callable[[DeviceMesh], Any], layouts: Any, at_least: int = 100) -> None:
    """Compares a program with one device, and expects that most of it could be compared."""
    comparison = simmesh.same_as_one_device(program, layouts=layouts)
    assert comparison.equal, comparison.text
    assert all(each.compared >= at_least for each in comparison.verdicts)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", DECODERS)
def test_decoder_has_the_bits_of_one_device(model: str, form: str) -> None:
    """Would fail if a wrapper changed bits of a language model, or was reported without cause."""
    expect_equal(models.training(DECODERS[model], FORMS[form]), FORMS[form].layouts)


@pytest.mark.parametrize("form", SPLIT)
@pytest.mark.parametrize("model", ["Llama", "Llama, eager", "Qwen3"])
def test_split_decoder_has_the_bits_of_one_device(model: str, form: str) -> None:
    """Would fail if sums over the ranks of tensor parallelism were rounded."""
    expect_equal(models.training(DECODERS[model], SPLIT[form]), SPLIT[form].layouts)


@pytest.mark.parametrize("wrap", [replicated, sharded])
@pytest.mark.parametrize("model", OTHERS)
def test_other_model_has_the_bits_of_one_device(model: str, wrap: Any) -> None:
    """Would fail if an operator of the model were refused, or had bits that depend on place."""
    build, loss = OTHERS[model]
    expect_equal(models.training(build, Form(wrap), loss), [{"dp": 2}])


PLANS: list[tuple[dict[str, int], dict[str, Any]]] = [
    ({"tp": 2}, {"tp_size": 2, "tp_plan": "auto"}),
    ({"dp": 2}, {"fsdp_size": 2}),
    ({"dp": 2, "tp": 2}, {"fsdp_size": 2, "tp_size": 2}),
]
EXPERTS: list[tuple[dict[str, int], dict[str, Any]]] = [
    ({"tp": 2}, {"tp_size": 2, "ep_size": 2}),
    ({"dp": 2}, {"fsdp_size": 2, "ep_size": 2, "ep_implementation": "all_to_all"}),
]
LOADED = [
    *((model, *plan) for model in ("Llama", "Qwen3", "Qwen3-MoE", "Mixtral") for plan in PLANS),
    *((model, *plan) for model in ("Qwen3-MoE", "Mixtral") for plan in EXPERTS),
]


@pytest.mark.parametrize(("model", "layout", "plan"), LOADED)
def test_transformers_own_plans_have_the_bits_of_one_device(
    model: str, layout: dict[str, int], plan: dict[str, Any], tmp_path: Path
) -> None:
    """Would fail if a model loaded with ``distributed_config`` were reported, or refused."""
    torch.manual_seed(0)
    kind = type(made := DECODERS[model]())
    made.save_pretrained(tmp_path)

    def wrap(built: Any, mesh: DeviceMesh) -> Any:
        if mesh.size() == 1:
            return built
        return kind.from_pretrained(tmp_path, distributed_config=DistributedConfig(**plan)).train()

    def program(mesh: DeviceMesh) -> Any:
        trained = wrap(kind.from_pretrained(tmp_path).train(), mesh)
        optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-2)
        for _ in range(2):
            loss = models.of_tokens(trained, models.rows_of(mesh, 1)[0])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    expect_equal(program, [layout])


def test_norms_of_heads_that_are_not_added_up_are_found() -> None:
    """Would fail if a plan that forgets Qwen3's norms passed, or another parameter were named."""

    def forgets(model: Any, mesh: DeviceMesh) -> Any:
        plan = {
            name: style for name, style in model.config.base_model_tp_plan.items()
            if "norm" not in name
        }  # fmt: skip
        return split_by_plan(model, mesh, plan)

    def program(mesh: DeviceMesh) -> Any:
        torch.manual_seed(0)
        model = DECODERS["Qwen3"]()
        trained = model if mesh.size() == 1 else forgets(model, mesh)
        models.of_tokens(trained, slice(0, 8)).backward()

    with pytest.raises(simmesh.DiffersFromOneDevice) as error:
        simmesh.same_as_one_device(program, layouts=[{"tp": 2}])
    verdict = error.value.comparison.verdicts[0]
    faults = {each.key.name.split(".")[-2] for each in verdict.faults if each.key is not None}
    assert faults == {"q_norm", "k_norm"}
    assert all("was not added up over tp" in each.text for each in verdict.faults)


def split_by_plan(model: Any, mesh: DeviceMesh, plan: dict[str, str]) -> Any:
    """A model whose layers transformers splits as a plan says."""
    from transformers.distributed.tensor_parallel import apply_tensor_parallelism

    names = [name for name, _ in model.model.named_modules()]
    names += [name for name, _ in model.model.named_parameters()]
    chosen = {
        name: style for name in names for rule, style in plan.items()
        if transformers.distributed.parallel_utils.replace_layer_number_by_wildcard(name)
        in (rule, f"{rule}.weight")
    }  # fmt: skip
    apply_tensor_parallelism(model.model, mesh, chosen)
    return model


@pytest.mark.parametrize("wrap", [replicated, sharded])
@pytest.mark.parametrize("model", ["Llama", "GPT-2", "Mixtral"])
def test_plain_operators_have_other_bits(model: str, wrap: Any) -> None:
    """Would fail if the bits were equal without exact operators: then nothing is shown above."""
    program = models.training(DECODERS[model], Form(wrap))

    def on(ranks: int) -> list[torch.Tensor]:
        ran = simmesh.spmd_run(
            lambda: program(init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",))),
            world_size=ranks,
        )
        assert ran.outcome.ok, ran.outcome.report
        return ran.results[0][1:]

    same = [torch.equal(*each) for each in zip(on(1), on(2))]
    assert same.count(False) > len(same) // 2
