"""Asks DeepSpeed for its verdict on configurations, key after key, and writes what it says as
recorded cases of kind zero_config: PYTHON tests/interop/record_configs.py OUT.jsonl

The keys of the sections that DeepSpeed checks come from its own classes; each gets its default,
other values of its type, and values of wrong types. The sections and keys that it reads unchecked
are listed here."""

import copy
import json
import logging
import sys
import types
import typing
from enum import Enum
from pathlib import Path
from typing import Any

import deepspeed
import pydantic
import torch
from deepspeed import comm
from deepspeed.comm.config import CommsLoggerConfig
from deepspeed.compile.config import CompileConfig
from deepspeed.inference.config import WeightQuantConfig
from deepspeed.monitor.config import CometConfig, CSVConfig, TensorBoardConfig, WandbConfig
from deepspeed.runtime.config import DeepSpeedConfig, HybridEngineConfig
from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
from deepspeed.runtime.tensor_parallel.config import TPConfig, TPTrainingConfig
from deepspeed.runtime.zenflow.zenflow_config import ZenFlowConfig
from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
from deepspeed.runtime.zero.leaf_module_config import DeepSpeedZeroLeafModuleConfig
from deepspeed.runtime.zero.offload_config import (
    DeepSpeedZeroOffloadOptimizerConfig,
    DeepSpeedZeroOffloadParamConfig,
)
from deepspeed.utils.config import DeepSpeedThroughputTimerConfig

WORLD = 2
SOURCE = (
    f"deepspeed {deepspeed.__version__}, torch {torch.__version__.split('+')[0]}, parsing alone"
)

# The section of each class that checks its keys.
MODELS: dict[str, type[pydantic.BaseModel]] = {
    "zero_optimization": DeepSpeedZeroConfig,
    "zero_optimization.offload_param": DeepSpeedZeroOffloadParamConfig,
    "zero_optimization.offload_optimizer": DeepSpeedZeroOffloadOptimizerConfig,
    "zero_optimization.leaf_module": DeepSpeedZeroLeafModuleConfig,
    "zero_optimization.zenflow": ZenFlowConfig,
    "fp16": DeepSpeedFP16Config,
    "bf16": DeepSpeedBF16Config,
    "bfloat16": DeepSpeedBF16Config,
    "tensor_parallel": TPTrainingConfig,
    "tensor_parallel.tp": TPConfig,
    "compile": CompileConfig,
    "hybrid_engine": HybridEngineConfig,
    "weight_quantization": WeightQuantConfig,
    "comms_logger": CommsLoggerConfig,
    "tensorboard": TensorBoardConfig,
    "wandb": WandbConfig,
    "csv_monitor": CSVConfig,
    "comet": CometConfig,
    "timers.throughput": DeepSpeedThroughputTimerConfig,
}

# Values of keys outside of those sections.
REMOVED = [
    "nebula", "compression_training", "amp", "quantize_training", "sparse_gradients", "eigenvalue",
    "sparse_attention", "elasticity", "graph_harvesting", "curriculum_learning",
    "progressive_layer_drop", "zero_optimization.mics_shard_size",
    "zero_optimization.mics_hierarchical_params_gather", "zero_optimization.zeropp_loco_param",
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    **{name: [None, False, {"enabled": False}, {"enabled": True}] for name in REMOVED},
    "train_batch_size": [4, 4.0, True, 3, 0, -2, None, "4", [4], {}],
    "train_micro_batch_size_per_gpu": [2, 2.0, True, 0, -2, None, "2", [2], {}],
    "gradient_accumulation_steps": [2, 2.0, True, 0, -1, None, "2", [2]],
    "managed_gradient_accumulation": [True, False, 1],
    "gradient_allreduce_op": ["mean", "sum", "SUM", "max", "", None, 1],
    "communication_data_type": ["fp32", "fp16", "bf16", "FP16", "float16", "int8", None, 16],
    "seq_parallel_communication_data_type": ["fp32", "bf16", "fp64", None, 1],
    "prescale_gradients": [False, True],
    "gradient_predivide_factor": [1.0, 2, 0.5],
    "gradient_clipping": [0, 1.0, 0.5, 3],
    "zero_allow_untested_optimizer": [True, False],
    "zero_force_ds_cpu_optimizer": [True, False],
    "steps_per_print": [10, None, "auto", "many"],
    "wall_clock_breakdown": [True, False, 1, "yes", None],
    "memory_breakdown": [True, "yes"],
    "dump_state": [True, "yes"],
    "disable_allgather": [False, True],
    "disable_python_gc": [True, "yes"],
    "dataloader_drop_last": [True, "yes"],
    "log_level": ["info", "loud", 3],
    "vocabulary_size": [8, 7, None, "many"],
    "use_data_before_expert_parallelism": [True, False],
    "sequence_parallel_size": [1, 2, 0, "1", None],
    "zero_optimization": [True, False, None, 1, "on", []],
    "a_key_of_a_program": [1, {"b": 2}],
    "fp16": [None, True, []],
    "bf16": [None, True, []],
    "bfloat16": [None, True, {"enabled": True}],
    "data_types": [
        {}, {"grad_accum_dtype": "fp32"}, {"grad_accum_dtype": "bf16"}, {"grad_accum_dtype": None},
        {"grad_accum_dtype": "torch.float32"}, {"param_dtype": "fp32"}, {"param_dtype": None},
        {"buffer_dtype": None}, {"buffer_dtype": "fp32"},
        {"keep_in_fp32_modules": ["norm"]}, {"keep_in_fp32_modules": "auto"},
        {"keep_in_fp32_modules": []},
        {"keep_in_fp32_modules": "all"}, {"keep_in_fp32_modules": [1]}, {"other": 1}, None, 1,
    ],
    "optimizer": [
        {}, {"type": "Adam"}, {"type": "adamw", "params": {}}, {"params": {"lr": 1}},
        {"type": "AdamW", "params": {"lr": 0.1}, "comment": "tuned"},
        {"type": "AdamW", "params": {"lr": 0.1}, "legacy_fusion": True}, {"type": None},
        {"type": "AdamW", "params": None}, None, 1, "Adam", {"type": 1},
    ],
    "scheduler": [
        {}, {"type": "WarmupLR", "params": {}}, {"type": None}, {"params": {"a": 1}},
        {"type": "WarmupLR", "params": {}, "comment": 1}, None, 1,
    ],
    "torch_autocast": [
        {}, {"enabled": False}, {"dtype": "bfloat16"}, {"dtype": "float8"}, {"dtype": 1},
        {"lower_precision_safe_modules": ["torch.nn.Linear"]}, None, 1,
        {"lower_precision_safe_modules": [1]}, {"enabled": True, "dtype": "bfloat16"},
    ],
    "pipeline": [{}, {"stages": 2, "seed_layers": True}, None, 1],
    "activation_checkpointing": [{}, {"partition_activations": True}, {"other": 1}, None, 1],
    "flops_profiler": [{}, {"enabled": True}, {"enabled": "yes"}, {"other": 1}, None, 1],
    "autotuning": [{}, {"enabled": True}, {"results_dir": ""}, {"exps_dir": None}, {"x": 1}, 1],
    "datastates_ckpt": [False, {"host_cache_size": 1}],
    "aio": [
        {}, {"block_size": 4096}, {"queue_depth": 3}, {"use_gds": False}, {"use_gds": True},
        {"other": 1}, None, 1,
    ],
    "checkpoint": [
        {}, {"tag_validation": "Fail"}, {"tag_validation": "ignore"}, {"tag_validation": "no"},
        {"tag_validation": None}, {"load_universal": True}, {"use_node_local_storage": True},
        {"parallel_write": {"pipeline_stage": True}}, {"parallel_write": {"pipeline_stage": "a"}},
        {"parallel_write": {"pipeline_stage": 1}}, {"parallel_write": None},
        {"checkpoint_serialization": False}, {"writer": None}, {"writer": {"type": "fast"}},
        {"writer": {"type": "slow"}}, {"writer": {"data_parallel": "socket"}},
        {"writer": {"data_parallel": "rack"}}, {"writer": 1}, {"other": 1}, None, 1,
    ],
    "data_efficiency": [
        {}, {"enabled": True, "seed": 1}, {"enabled": False},
        {"enabled": True, "data_sampling": {"enabled": True}},
        {"enabled": True, "data_routing": {"enabled": True}},
        {"data_sampling": {"curriculum_learning": {"enabled": False}}},
        {"data_sampling": {"curriculum_learning": {"enabled": True}}},
        {"data_sampling": {"dynamic_batching": {"enabled": True}}}, None, 1,
    ],
    "expert_parallel": [
        {}, None, {"enabled": False}, {"enabled": True}, {"load_balance_coeff": 0.1},
        {"load_balance_coeff": None}, 1,
    ],
    "comms_logger": [{}, None, 1],
    "tensorboard": [{}, None, 1],
    "compile": [{}, None, 1],
    "timers": [{}, {"throughput": {}}, {"other": 1}, None, 1],
    "hybrid_engine": [{}, None, 1],
    "weight_quantization": [{}, None, 1],
    "tensor_parallel": [{}, None, 1],
}  # fmt: skip

# Whole configurations, for what two keys say together.
TOGETHER: list[dict[str, Any]] = [
    {"fp16": {"enabled": True}, "bf16": {"enabled": True}},
    {"fp16": {"enabled": True}, "bfloat16": {"enabled": True}},
    {"fp16": {"enabled": True}, "bf16": {"enabled": False}, "bfloat16": {"enabled": True}},
    {"bf16": None, "bfloat16": {"enabled": True}},
    {"bf16": {}, "bfloat16": {"enabled": True}},
    {"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 2}},
    {"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 3}},
    {"gradient_allreduce_op": "mean", "zero_optimization": {"stage": 3}},
    {"gradient_allreduce_op": "sum", "compile": {"deepcompile": True}},
    {"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 2, "zenflow": {}}},
    *(
        {name: {"enabled": True, **keys}, "zero_optimization": {"stage": stage}}
        for stage in (0, 2, 3)
        for name, keys in (
            ("fp16", {"fp16_master_weights_and_grads": True}),
            ("bf16", {"bf16_master_weights_and_grads": True}),
            ("bf16", {"bf16_optimizer_states": True}),
            ("bf16", {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}),
        )
    ),
    {"fp16": {"enabled": True, "loss_scale": 0, "loss_scale_window": 0}},
    {"fp16": {"enabled": True, "loss_scale": 128, "loss_scale_window": 0}},
    {"fp16": {"enabled": True, "min_loss_scale": 0}},
    {"fp16": {"enabled": "auto"}},
    {"fp16": {"enabled": True, "auto_cast": True}},
    {"bf16": {"enabled": "auto"}},
    {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}},
    {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}},
    {"zero_optimization": {"stage": 3, "compute_grad_norm": False}},
    {"zero_optimization": {"stage": 2, "compute_grad_norm": False}},
    {"zero_optimization": {"stage": 3, "elastic_checkpoint": True}},
    {
        "zero_optimization": {
            "stage": 2, "cpu_offload": True, "offload_optimizer": {"device": "cpu"}
        }
    },
    {"zero_optimization": {"stage": 2, "cpu_offload": True}},
    {"zero_optimization": {"stage": 3, "cpu_offload_param": True}},
    {"zero_optimization": {"stage": 3, "offload_param": {"device": "auto"}}},
    {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2},
    {"train_batch_size": 8, "train_micro_batch_size_per_gpu": None},
    {"train_batch_size": 8, "gradient_accumulation_steps": 2, "train_micro_batch_size_per_gpu": 2},
    {"train_batch_size": 8, "gradient_accumulation_steps": 3, "train_micro_batch_size_per_gpu": 2},
    {
        "train_batch_size": 2, "gradient_accumulation_steps": 4,
        "train_micro_batch_size_per_gpu": None,
    },
]  # fmt: skip

# Keys that simmesh lacks: it refuses these values, which DeepSpeed takes, and says so.
MISSING: dict[str, Any] = {
    "zero_optimization.zenflow": lambda value: value is not None,
    "tensor_parallel.autotp_size": lambda value: value in (7, 8.0, "9"),
    "tensor_parallel.tp.tp_size": lambda value: value in (7, 8.0, "9"),
    "compile.deepcompile": lambda value: value in (True, 1, "yes"),
    "hybrid_engine.enabled": lambda value: value in (True, 1, "yes"),
    "weight_quantization": lambda value: value is not None,
    "expert_parallel": lambda value: bool(value) and bool(value.get("enabled")),
    "torch_autocast": lambda value: bool(value.get("enabled")) and value.get("dtype") == "int8",
    "sequence_parallel_size": lambda value: value > 1,
    "data_efficiency": lambda value: (
        value.get("enabled")
        and any(
            part.get("enabled")
            or any(isinstance(x, dict) and x.get("enabled") for x in part.values())
            for name, part in value.items()
            if name in ("data_sampling", "data_routing")
        )
    ),
}


def answers(annotation: Any) -> list[Any]:
    """Returns values for a key of a type: right ones first, then wrong ones."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = next(x for x in arguments if x is not type(None))
        return ([None] if type(None) in arguments else []) + answers(inner)
    if annotation is bool:
        return [True, False, 1, "yes", "auto", 2, "maybe", None]
    if annotation is int:
        return [1, 7, 0, -1, 8.0, "9", True, "auto", 2.5, "x", None, [1]]
    if annotation is float:
        return [0.5, 0, 1, 1.5, -1, "0.25", "auto", "x", None]
    if annotation is str:
        return ["text", "auto", 1, None, ["text"]]
    if annotation is Path:
        return ["/a/path", "auto", 1, ["/a"]]
    if origin is list or annotation is list:
        return [[], ["a"], "a", 1, [1], {"a": 1}]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [x.value for x in annotation] + ["auto", "x", 9, True, None, []]
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return [{}, None, 1, [], {"no_such_key": 1}]
    return ["text", 1, None, {}, [], True]


def configuration(path: str, value: Any) -> dict[str, Any]:
    """Returns the smallest configuration that sets a key to a value."""
    config: dict[str, Any] = {}
    if not path.startswith("train_batch_size"):
        config["train_micro_batch_size_per_gpu"] = 2
    if path.startswith("zero_optimization."):
        config["zero_optimization"] = {"stage": 3}
        if path.endswith("compute_grad_norm"):
            config["zero_optimization"]["stage"] = 2
    place = config
    *sections, name = path.split(".")
    for section in sections:
        place = place.setdefault(section, {})
    place[name] = value
    return config


def paths_and_values() -> typing.Iterator[tuple[str, Any]]:
    for path, values in VALUES.items():
        for value in values:
            yield path, value
    for section, model in MODELS.items():
        for name, field in model.model_fields.items():
            for value in answers(field.annotation):
                yield f"{section}.{name}", value
            if field.alias:
                yield f"{section}.{field.alias}", field.get_default(call_default_factory=True)
        yield f"{section}.no_such_key", 1


def understood(config: DeepSpeedConfig) -> dict[str, Any]:
    values: dict[str, Any] = config.zero_config.model_dump(mode="json")
    for name in ("cpu_offload", "cpu_offload_param", "cpu_offload_use_pin_memory", "zenflow"):
        values.pop(name, None)
    values.pop("stage3_gather_fp16_weights_on_model_save", None)
    values["fp16"] = config.float16_config.model_dump()
    values["bf16"] = config.bfloat16_config.model_dump()
    for name in (
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
        "managed_gradient_accumulation",
        "gradient_clipping",
        "prescale_gradients",
        "gradient_predivide_factor",
        "gradient_allreduce_op",
        "zero_allow_untested_optimizer",
    ):
        values[name] = getattr(config, name)
    values["communication_data_type"] = {
        None: None, torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"
    }[config.communication_data_type]  # fmt: skip
    return values


def verdict(config: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Returns what a case expects: values that aren't the default, or the error."""
    try:
        values = understood(DeepSpeedConfig(copy.deepcopy(config)))
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        # The index in a list and the type in a union aren't part of the key.
        field = ".".join(str(x) for x in first["loc"] if x not in ("str", "int", *range(9)))
        phrase = first["msg"].removeprefix("Input should be ")
        expect = {"ok": False, "error": "ValidationError", "why": first["type"], "phrase": phrase}
        return {**expect, "field": field} if field else expect
    except Exception as error:
        phrase = " ".join(str(error).split())[:200]
        return {"ok": False, "error": type(error).__name__, "phrase": phrase}
    changed = {name: value for name, value in values.items() if value != defaults.get(name)}
    changed.setdefault("stage", values["stage"])
    return {"ok": True, "values": changed}


def value_at(config: dict[str, Any], path: str) -> tuple[bool, Any]:
    place: Any = config
    for name in path.split("."):
        if not isinstance(place, dict) or name not in place:
            return False, None
        place = place[name]
    return True, place


def missing_key(config: dict[str, Any]) -> str | None:
    for path, lacks in MISSING.items():
        is_there, value = value_at(config, path)
        if is_there and lacks(value):
            return path
    return None


def main() -> None:
    logging.disable(logging.CRITICAL)
    comm.get_world_size = lambda group=None: WORLD
    comm.get_rank = lambda group=None: 0
    defaults = understood(DeepSpeedConfig({"train_micro_batch_size_per_gpu": 2}))
    seen: set[str] = set()
    configs = [(path, configuration(path, value)) for path, value in paths_and_values()]
    configs += [("together", {"train_micro_batch_size_per_gpu": 2, **x}) for x in TOGETHER]
    with open(sys.argv[1], "w") as file:
        for path, config in configs:
            text = json.dumps(config)
            if text in seen:
                continue
            seen.add(text)
            expect = verdict(config, defaults)
            if expect["ok"] and (missing := missing_key(config)):
                expect = {"ok": True, "missing": missing}
            case = {
                "kind": "zero_config", "id": f"key/{path}/{len(seen)}", "source": SOURCE,
                "world": WORLD, "level": "parse", "optimizer": None, "config": config,
                "expect": expect,
            }  # fmt: skip
            file.write(json.dumps(case, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
