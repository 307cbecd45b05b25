"""Trainings of torchtitan's own trainer, small enough for a CPU, and the data that they read."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

_SETTINGS = (
    "--training.steps=3", "--training.local_batch_size=2", "--training.disable_cuda_graphs",
    "--metrics.log_freq=1",
)  # fmt: skip
_WORDS = ("rank", "mesh", "gather", "scatter", "reduce", "shard", "tensor", "stage", "loss")
_BEGIN, _END = "<|begin_of_text|>", "<|end_of_text|>"


@dataclass(frozen=True)
class Training:
    """A run of the trainer: its title in the table, model, number of ranks, and degrees by the
    names of torchtitan's options.
    """

    title: str
    module: str
    config: str
    ranks: int
    degrees: dict[str, int | str]
    tokens: int = 64

    def words(self) -> list[str]:
        """The trainer's arguments."""
        degrees = [f"--parallelism.{name}={value}" for name, value in self.degrees.items()]
        model = [f"--module={self.module}", f"--config={self.config}"]
        return [*model, *_SETTINGS, f"--training.seq_len={self.tokens}", *degrees]


def _llama(title: str, ranks: int, tokens: int = 64, **degrees: int | str) -> Training:
    named = {f"{name}_degree" if isinstance(value, int) else name: value
             for name, value in degrees.items()}  # fmt: skip
    return Training(f"Llama3, {title}", "llama3", "llama3_debugmodel", ranks, named, tokens)


_SHARD = "data_parallel_shard_degree"

#: The rows of the table. Masks of context parallelism are blocks of 128 tokens.
TRAININGS = (
    _llama("DDP", 2, data_parallel_replicate=2, data_parallel_shard=1),
    _llama("FSDP2", 2),
    _llama("HSDP 2 x 2", 4, data_parallel_replicate=2, data_parallel_shard=2),
    _llama("TP", 2, tensor_parallel=2),
    _llama("CP", 2, tokens=512, context_parallel=2),
    _llama("PP, 1F1B", 2, pipeline_parallel=2, pipeline_parallel_schedule="1F1B"),
    _llama("FSDP2 x TP x PP", 8, data_parallel_shard=2, tensor_parallel=2, pipeline_parallel=2,
           pipeline_parallel_schedule="1F1B"),
    Training("DeepSeek, FSDP2 with EP", "deepseek_v3", "deepseek_v3_debugmodel", 2,
             {"expert_parallel_degree": 2}),
    Training("Qwen3, FSDP2 x TP", "qwen3", "qwen3_debugmodel", 4,
             {_SHARD: 2, "tensor_parallel_degree": 2}),
    Training("Qwen3 with experts, FSDP2 x TP with EP", "qwen3", "qwen3_moe_debug", 4,
             {_SHARD: 2, "tensor_parallel_degree": 2, "expert_parallel_degree": 2}),
)  # fmt: skip


def write_data(folder: Path) -> None:
    """Writes the data set and the tokenizer where the debug models look for them, from a folder in
    which the trainer is run.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    assets = folder / "tests" / "assets"
    draws = random.Random(0)
    lines = [json.dumps({"text": " ".join(draws.choices(_WORDS, k=120))}) for _ in range(400)]
    (assets / "c4_test").mkdir(parents=True)
    (assets / "c4_test" / "data.json").write_text("\n".join(lines), encoding="utf-8")
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {text: index for index, text in enumerate([*letters, _BEGIN, _END])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens([_BEGIN, _END])
    (assets / "tokenizer").mkdir()
    tokenizer.save(str(assets / "tokenizer" / "tokenizer.json"))
    special = json.dumps({"bos_token": _BEGIN, "eos_token": _END})
    (assets / "tokenizer" / "tokenizer_config.json").write_text(special, encoding="utf-8")
