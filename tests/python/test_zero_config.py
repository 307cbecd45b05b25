"""Tests of what a DeepSpeed configuration means."""

from __future__ import annotations

from pathlib import Path

import pytest

import simmesh


def test_a_dict_and_a_file_mean_the_same(tmp_path: Path) -> None:
    file = tmp_path / "ds_config.json"
    file.write_text("{\n # per step\n train_batch_size: 16,\n zero_optimization: {stage: 2},\n}")
    by_file = simmesh.zero_config(file, ranks=8)
    by_dict = simmesh.zero_config(
        {"train_batch_size": 16, "zero_optimization": {"stage": 2}}, ranks=8
    )
    assert by_file.values == by_dict.values
    assert by_file.train_micro_batch_size_per_gpu == 2
    assert by_file.gradient_accumulation_steps == 1
    assert by_file.values["zero_optimization.overlap_comm"] is False
    assert "train_batch_size 16 = " in str(by_file)
    assert repr(by_file) == "<ZeroConfig for 8 ranks>"


def test_costs_are_bytes_where_the_size_is_known() -> None:
    config = {"train_batch_size": 8, "wandb": {}, "mine": 1}
    assert simmesh.zero_config(config).costs["zero_optimization.stage"] == (
        "parameters 4 P bytes, gradients 4 P bytes"
    )
    sized = simmesh.zero_config(config, parameters=10)
    assert sized.costs["zero_optimization.stage"].startswith("parameters 4 P = 40 bytes")
    assert (sized.without_effect, sized.unknown, sized.ranks) == (["wandb"], ["mine"], 1)
    assert sized.train_batch_size == 8


def test_auto_stands_for_given_values() -> None:
    config = {
        "train_micro_batch_size_per_gpu": "auto",
        "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
    }
    auto = {
        "train_micro_batch_size_per_gpu": 2,
        "lr": 0.25,
        "betas": [0.5, 0.75],
        "hidden_size": 10,
    }
    values = simmesh.zero_config(config, ranks=4, auto=auto).values
    assert values["optimizer.params.betas"] == [0.5, 0.75]
    assert values["zero_optimization.reduce_bucket_size"] == 100
    with pytest.raises(ValueError, match="train_micro_batch_size_per_gpu"):
        simmesh.zero_config(config)


def test_refusals_have_deepspeeds_classes() -> None:
    with pytest.raises(AssertionError, match="got 15"):
        simmesh.zero_config({"train_batch_size": 15}, ranks=8)
    with pytest.raises(TypeError, match="train_batch_size"):
        simmesh.zero_config({"train_batch_size": "16"})
    with pytest.raises(ValueError, match="simmesh has no DeepCompile"):
        simmesh.zero_config({"train_batch_size": 8, "compile": {"deepcompile": True}})
