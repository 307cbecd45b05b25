"""Small models of transformers, and the ways to train them on a mesh."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import simmesh

VOCABULARY = 64
TOKENS = torch.randint(0, VOCABULARY, (8, 9), generator=torch.Generator().manual_seed(3))
WORDS: dict[str, Any] = {
    "vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
SIZES: dict[str, Any] = WORDS | {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 32, "tie_word_embeddings": False,
}  # fmt: skip
EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "num_local_experts": 4, "num_experts": 4}

transformers.logging.set_verbosity_error()


def made(name: str, attention: str = "sdpa", **options: Any) -> nn.Module:
    """A model of two layers: "LlamaForCausalLM" with its configuration."""
    kind = getattr(transformers, name)
    config = kind.config_class(**options)
    config._attn_implementation = attention
    model: nn.Module = kind(config)
    return model.train()


#: The models that predict tokens, by name.
DECODERS: dict[str, Callable[[], nn.Module]] = {
    "Llama": lambda: made("LlamaForCausalLM", **SIZES),
    "Llama, eager": lambda: made("LlamaForCausalLM", "eager", **SIZES),
    "GPT-2": lambda: made(
        "GPT2LMHeadModel", n_embd=16, n_layer=2, n_head=4, n_positions=32, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, **WORDS,
    ),
    "Qwen3": lambda: made("Qwen3ForCausalLM", head_dim=4, **SIZES),
    "Qwen3-MoE": lambda: made(
        "Qwen3MoeForCausalLM", head_dim=4, moe_intermediate_size=16, **SIZES, **EXPERTS
    ),
    "Mixtral": lambda: made("MixtralForCausalLM", **SIZES, **EXPERTS),
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A way to train, with the layouts on which it runs. ``parts`` is the number of micro-batches
    on ranks; one device has one, and no checkpoints.
    """

    wrap: Callable[[nn.Module, DeviceMesh], nn.Module]
    layouts: tuple[dict[str, int], ...] = ({"dp": 2},)
    parts: int = 1
    checkpoints: bool = False
    is_loss_parallel: bool = False


Loss = Callable[[nn.Module, slice], torch.Tensor]


def of_tokens(model: nn.Module, rows: slice) -> torch.Tensor:
    """The cross entropy of each next token."""
    logits = model(TOKENS[rows, :-1]).logits
    return functional.cross_entropy(logits.flatten(0, 1), TOKENS[rows, 1:].flatten())


def training(
    build: Callable[[], nn.Module], form: Form, loss_of: Loss = of_tokens
) -> Callable[[DeviceMesh], list[torch.Tensor]]:
    """Two steps of AdamW with clipping, whose data are cut over the dims of data parallelism.
    Returns the loss and the parameters.
    """

    def program(mesh: DeviceMesh) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = build()
        if form.checkpoints and mesh.size() > 1:
            model.activation_checkpointing_enable()
        wrapped = form.wrap(model, mesh)
        optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-2)
        parts = form.parts if mesh.size() > 1 else 1
        for _ in range(2):
            total = torch.zeros(())
            for index, rows in enumerate(rows_of(mesh, parts)):
                with synchronized(wrapped, index == parts - 1), loss_scope(form):
                    loss = loss_of(wrapped, rows) / parts
                    loss.backward()
                total = total + whole(loss)
            nn.utils.clip_grad_norm_(wrapped.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return [total / mesh_of_data(mesh)[1], *(whole(each) for each in model.parameters())]

    return program


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without its graph, gathered if it is cut."""
    detached = tensor.detach()
    return (detached.full_tensor() if isinstance(detached, DTensor) else detached).clone()


def loss_scope(form: Form) -> Any:
    """The scope in which the loss takes logits that are cut over the vocabulary."""
    return loss_parallel() if form.is_loss_parallel else contextlib.nullcontext()


def mesh_of_data(mesh: DeviceMesh) -> tuple[int, int]:
    """This rank's place among the ranks that have other rows, and their number."""
    place, count = 0, 1
    for name in mesh.mesh_dim_names or ():
        if name != "tp":
            place = place * mesh[name].size() + mesh[name].get_local_rank()
            count *= mesh[name].size()
    return place, count


def rows_of(mesh: DeviceMesh, parts: int) -> list[slice]:
    """The rows of each of this rank's micro-batches."""
    mine = simmesh.rows_of(*mesh_of_data(mesh), len(TOKENS))
    step = (mine.stop - mine.start) // parts
    return [slice(begin, begin + step) for begin in range(mine.start, mine.stop, step)]


@contextlib.contextmanager
def synchronized(model: nn.Module, is_last: bool) -> Any:
    """Adds gradients up over ranks in the last micro-batch only."""
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(is_last)
    skips = isinstance(model, DistributedDataParallel) and not is_last
    with model.no_sync() if skips else contextlib.nullcontext():
        yield


def layers_of(model: nn.Module) -> list[nn.Module]:
    """The layers of a model: the modules of its longest list of modules, and of a second list
    beside it as encoders have.
    """
    lists = [each for each in model.modules() if isinstance(each, nn.ModuleList) and len(each) > 1]
    outer = [
        each
        for each in lists
        if not any(each is not other and each in set(other.modules()) for other in lists)
    ]
    return [layer for each in outer for layer in each]


def replicated(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """DDP with buckets of a parameter each."""
    return DistributedDataParallel(model, device_mesh=mesh, bucket_cap_mb=1e-4)


def sharded(model: nn.Module, mesh: DeviceMesh, **options: Any) -> nn.Module:
    """FSDP2 of each layer and of the rest; HSDP if the mesh has two dims."""
    for layer in [*layers_of(model), model]:
        fully_shard(layer, mesh=mesh, **options)
    return model


def low_precision(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """FSDP2 whose parameters are gathered in bfloat16."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return sharded(model, mesh, mp_policy=policy)


def split(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Tensor parallelism whose activations between layers are cut along the sequence, and whose
    logits are cut over the vocabulary.
    """
    tensor = mesh["tp"] if mesh.ndim > 1 else mesh
    sequence, whole = Shard(1), Replicate()
    outside: dict[str, ParallelStyle] = {
        "model.embed_tokens": RowwiseParallel(input_layouts=whole, output_layouts=whole),
        "model.norm": SequenceParallel(),
        "lm_head": ColwiseParallel(
            input_layouts=sequence, output_layouts=Shard(-1), use_local_output=False
        ),
    }
    parallelize_module(model, tensor, outside)
    for index, layer in enumerate(layers_of(model)):
        inside: dict[str, Any] = {
            f"self_attn.{name}_proj": ColwiseParallel() for name in ("q", "k", "v")
        } | {f"mlp.{name}_proj": ColwiseParallel() for name in ("gate", "up")}
        inside |= {
            "self_attn": PrepareModuleInput(
                input_kwarg_layouts={"hidden_states": sequence},
                desired_input_kwarg_layouts={"hidden_states": whole},
            ),
            "self_attn.o_proj": RowwiseParallel(output_layouts=sequence),
            "mlp": PrepareModuleInput(input_layouts=(sequence,), desired_input_layouts=(whole,)),
            "mlp.down_proj": RowwiseParallel(output_layouts=sequence),
            "input_layernorm": SequenceParallel(), "post_attention_layernorm": SequenceParallel(),
        }  # fmt: skip
        if hasattr(layer.self_attn, "q_norm"):  # their rows are heads, which are cut
            heads = SequenceParallel(sequence_dim=2, use_local_output=True)
            inside |= {"self_attn.q_norm": heads, "self_attn.k_norm": heads}
        if index == 0:
            inside[""] = PrepareModuleInput(
                input_layouts=(whole,), desired_input_layouts=(sequence,), use_local_output=True
            )
        for name, style in inside.items():
            parallelize_module(layer.get_submodule(name), tensor, style)
    return sharded(model, mesh["dp"]) if mesh.ndim > 1 else model


def of_each_token(model: nn.Module, rows: slice) -> torch.Tensor:
    """The loss of an encoder that predicts each token."""
    logits = model(TOKENS[rows]).logits
    return functional.cross_entropy(logits.flatten(0, 1), TOKENS[rows].flatten())


def of_translations(model: nn.Module, rows: slice) -> torch.Tensor:
    """The loss of an encoder and a decoder of tokens."""
    return model(input_ids=TOKENS[rows], labels=TOKENS[rows].flip(1)).loss


def of_images(model: nn.Module, rows: slice) -> torch.Tensor:
    """The loss of a classifier of images."""
    images = torch.randn(8, 3, 8, 8, generator=torch.Generator().manual_seed(4))
    return functional.cross_entropy(model(images[rows]).logits, torch.arange(8)[rows] % 5)


def of_speech(model: nn.Module, rows: slice) -> torch.Tensor:
    """The loss of a transcription."""
    sounds = torch.randn(8, 8, 16, generator=torch.Generator().manual_seed(5))
    return model(input_features=sounds[rows], labels=TOKENS[rows]).loss


BERT: dict[str, Any] = WORDS | {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 32, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
}  # fmt: skip
SPEECH: dict[str, Any] = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "num_mel_bins": 8,
    "max_source_positions": 8, "max_target_positions": 32, "decoder_start_token_id": 1,
}  # fmt: skip

#: Other models, each with its loss.
OTHERS: dict[str, tuple[Callable[[], nn.Module], Loss]] = {
    "Gemma3": (lambda: made("Gemma3ForCausalLM", head_dim=4, sliding_window=4, **SIZES), of_tokens),
    "Qwen2": (lambda: made("Qwen2ForCausalLM", **SIZES), of_tokens),
    "GPT-NeoX": (lambda: made("GPTNeoXForCausalLM", **SIZES), of_tokens),
    "OPT": (
        lambda: made("OPTForCausalLM", ffn_dim=32, dropout=0.0, word_embed_proj_dim=16, **SIZES),
        of_tokens,
    ),
    "Phi": (lambda: made("PhiForCausalLM", **SIZES), of_tokens),
    "Falcon": (lambda: made("FalconForCausalLM", **SIZES), of_tokens),
    "Falcon, ALiBi": (
        lambda: made("FalconForCausalLM", alibi=True, new_decoder_architecture=False, **SIZES),
        of_tokens,
    ),
    "DeepSeek-V3": (
        lambda: made(
            "DeepseekV3ForCausalLM", moe_intermediate_size=16, n_routed_experts=4, n_group=2,
            topk_group=1, num_experts_per_tok=2, n_shared_experts=1, first_k_dense_replace=1,
            kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=4,
            **SIZES | {"num_key_value_heads": 4},
        ),
        of_tokens,
    ),
    "Mamba": (
        lambda: made(
            "MambaForCausalLM", "eager", hidden_size=16, state_size=4, num_hidden_layers=2, **WORDS
        ),
        of_tokens,
    ),
    "Mamba 2": (
        lambda: made(
            "Mamba2ForCausalLM", "eager", hidden_size=16, state_size=4, num_hidden_layers=2,
            num_heads=4, head_dim=8, n_groups=2, chunk_size=4, **WORDS,
        ),
        of_tokens,
    ),
    "BERT": (lambda: made("BertForMaskedLM", **BERT), of_each_token),
    "ModernBERT": (
        lambda: made("ModernBertForMaskedLM", **BERT | {"cls_token_id": 1, "sep_token_id": 2}),
        of_each_token,
    ),
    "T5": (
        lambda: made(
            "T5ForConditionalGeneration", d_model=16, d_kv=4, d_ff=32, num_layers=2, num_heads=4,
            dropout_rate=0.0, decoder_start_token_id=0, **WORDS,
        ),
        of_translations,
    ),
    "Whisper": (lambda: made("WhisperForConditionalGeneration", **SPEECH, **WORDS), of_speech),
    "ViT": (
        lambda: made(
            "ViTForImageClassification", hidden_size=16, num_hidden_layers=2, image_size=8,
            num_attention_heads=2, intermediate_size=32, patch_size=4, num_labels=5,
        ),
        of_images,
    ),
    "ConvNeXt": (
        lambda: made(
            "ConvNextForImageClassification", "eager", hidden_sizes=[8, 16], depths=[1, 1],
            num_stages=2, patch_size=2, num_labels=5,
        ),
        of_images,
    ),
}  # fmt: skip
