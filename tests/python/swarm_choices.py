"""The choices that a seed of the swarm makes: layers, wrappers, dtypes, optimizers, losses, rows.

Combinations that PyTorch refuses aren't drawn. Those that a limit of exact arithmetic rules out are
drawn with that limit.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import swarm_layers as layers

#: The texts of limits, as the report has them.
THIRDS = "is no power of two, so they are rounded differently"
STATISTICS = "the statistics are those of each rank's own rows"
RANDOM = "it has random numbers"
PRODUCTS = "the optimizer's step multiplies matrices that are cut"
PARTS = "it differs by rounding only"
MOMENTUM = "so is the momentum, which lasts over steps"


@dataclass
class Choices:
    """The choices of a seed. Texts are those of the program."""

    family: str = "text"
    wrapper: str = "ddp"
    layout: dict[str, int] = field(default_factory=dict)
    rows: int = 8
    micro: int = 1
    means: bool = True
    dtype: str = "float32"
    autocast: bool = False
    policy: str = "MixedPrecisionPolicy()"
    layers: list[str] = field(default_factory=list)
    norm: str = ""
    head: str = ""
    embed: str = ""
    options: str = ""
    loss: str = ""
    target: str = ""
    optimizers: list[str] = field(default_factory=list)
    clip: str = ""
    wrap: list[str] = field(default_factory=list)
    is_loss_parallel: bool = False
    must: str = ""
    may: tuple[str, ...] = ()

    @property
    def data_dims(self) -> list[str]:
        """The mesh dims over which rows are cut."""
        return [name for name in self.layout if name != "tp"]

    @property
    def data_ranks(self) -> int:
        """The number of ranks that have rows of their own."""
        product = 1
        for name in self.data_dims:
            product *= self.layout[name]
        return product


def choices_of(seed: int) -> Choices:
    """Makes the choices of a seed."""
    draw = random.Random(seed)
    chosen = Choices()
    chosen.wrapper = draw.choice(
        ["hand", "ddp", "ddp", "fsdp", "fsdp", "hsdp", "tp", "sp", "sp", "tp_fsdp", "ep", "ep_fsdp"]
    )
    sizes = [2, 2, 2, 3, 4]
    chosen.layout = {
        "hsdp": {"replicate": 2, "shard": 2},
        "tp": {"tp": draw.choice([2, 2, 4])},
        "sp": {"tp": draw.choice([2, 2, 4])},
        "tp_fsdp": {"dp": 2, "tp": 2},
        "ep": {"ep": draw.choice([2, 4])},
        "ep_fsdp": {"ep": 2},
    }.get(chosen.wrapper, {"dp": draw.choice(sizes)})
    is_tensor = "tp" in chosen.layout
    is_expert = "ep" in chosen.layout
    chosen.family = (
        "text" if is_tensor or is_expert else draw.choice(["text", "text", "vectors", "pixels"])
    )
    _rows(chosen, draw)
    _dtype(chosen, draw)
    _model(chosen, draw)
    _loss(chosen, draw)
    _optimizer(chosen, draw)
    _wrap(chosen, draw)
    return chosen


def _rows(chosen: Choices, draw: random.Random) -> None:
    ranks = chosen.data_ranks
    chosen.micro = draw.choice([1, 1, 2])
    chosen.means = draw.random() < 0.5 and chosen.wrapper not in ("hand", "ep", "ep_fsdp")
    chosen.rows = ranks * chosen.micro * draw.choice([1, 2])
    if not chosen.means and draw.random() < 0.5:
        chosen.rows = ranks * chosen.micro + draw.randrange(1, ranks + 1)


def _dtype(chosen: Choices, draw: random.Random) -> None:
    kind = draw.choice(["plain", "plain", "plain", "double", "autocast", "bfloat", "mixed"])
    if kind == "double":
        chosen.dtype = "float64"
    elif kind == "autocast":
        chosen.autocast = True
    elif kind == "bfloat":
        chosen.dtype = "bfloat16"
    elif kind == "mixed" and chosen.wrapper in ("fsdp", "hsdp", "tp_fsdp"):
        reduced = draw.choice(["torch.float32", "torch.bfloat16", "None"])
        chosen.policy = f"MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype={reduced})"


_ACTIVATIONS = [
    "F.gelu", "F.relu", "F.silu", "torch.tanh", "F.softplus", "F.mish", "F.elu", "torch.sigmoid",
    "F.hardswish", "F.leaky_relu", "F.selu",
]  # fmt: skip


def _norms(chosen: Choices, draw: random.Random) -> list[str]:
    """The norms that the model may have. A batch norm needs two rows a call."""
    norms = {
        "text": ["nn.LayerNorm(WIDTH)", "nn.RMSNorm(WIDTH)", "Scale()"],
        "vectors": ["nn.LayerNorm(WIDTH)", "nn.RMSNorm(WIDTH)", "nn.GroupNorm(2, WIDTH)"],
        "pixels": ["nn.GroupNorm(2, WIDTH)", "nn.GroupNorm(WIDTH, WIDTH)",
                   "nn.InstanceNorm2d(WIDTH, affine=True)"],
    }[chosen.family]  # fmt: skip
    if "tp" in chosen.layout:
        return norms[:2]
    has_rows = chosen.data_ranks * chosen.micro * 2 <= chosen.rows
    # PyTorch refuses a batch norm of bfloat16 whose buffers stay float32.
    is_mixed = "param_dtype" in chosen.policy
    if chosen.family != "text" and draw.random() < 0.1 and has_rows and not is_mixed:
        chosen.must = STATISTICS
        return ["nn.BatchNorm1d(WIDTH)" if chosen.family == "vectors" else "nn.BatchNorm2d(WIDTH)"]
    return norms


def _model(chosen: Choices, draw: random.Random) -> None:
    norms = _norms(chosen, draw)
    is_tensor = "tp" in chosen.layout
    dropout = ""
    if not is_tensor and draw.random() < 0.05 and not chosen.must:
        dropout, chosen.must = ", 0.5", RANDOM
    count = draw.choice([1, 2])
    bodies = [_body(chosen, draw) for _ in range(count)]
    if "ep" in chosen.layout:
        bodies[-1] = f"SentExperts(mesh, chosen={draw.choice([1, 2])})"
    chosen.layers = [f"Residual({draw.choice(norms)}, {body}{dropout})" for body in bodies]
    chosen.norm = draw.choice([*norms, "nn.Identity()"]) if not is_tensor else draw.choice(norms)
    bias = draw.choice(["True", "False"])
    chosen.embed = {
        "text": "nn.Embedding(CLASSES, WIDTH)",
        "vectors": f"nn.Linear(WIDTH, WIDTH, bias={bias})",
        "pixels": f"nn.Conv2d(3, WIDTH, 3, padding=1, stride={draw.choice([1, 2])})",
    }[chosen.family]
    chosen.head = f"nn.Linear(WIDTH, CLASSES, bias={bias})"
    options = []
    if chosen.family == "text" and not is_tensor and draw.random() < 0.3:
        options.append("tied=True")
    if chosen.family == "pixels":
        options.append("pooled=True")
    if draw.random() < 0.25 and not dropout:
        options.append(f'checkpoints="{draw.choice(["not reentrant", "reentrant"])}"')
        if chosen.wrapper == "ddp" or chosen.family != "text":
            options[-1] = 'checkpoints="not reentrant"'
    chosen.options = "".join(f", {each}" for each in options)


def _body(chosen: Choices, draw: random.Random) -> str:
    activation, bias = draw.choice(_ACTIVATIONS), draw.choice(["True", "False"])
    if chosen.family == "pixels":
        return f"Pixels(groups={draw.choice([1, 2, 8])}, dilation={draw.choice([1, 2])})"
    feed = draw.choice([f"Gated({activation}, bias={bias})", f"Mlp({activation}, bias={bias})"])
    if chosen.family == "vectors":
        return draw.choice([feed, "Twice()", feed])
    heads = draw.choice([4, 4, 2, 1])
    if "tp" in chosen.layout:
        heads = max(heads, chosen.layout["tp"])
    kind = draw.choice(["Attention", "Attention", "Softmax"])
    attention = f"{kind}({heads}, causal={draw.choice(['True', 'False'])}, bias={bias})"
    if "tp" in chosen.layout:
        return draw.choice([feed, attention])
    convolution = f"Convolution(groups={draw.choice([1, 2])}, kernel={draw.choice([1, 3])})"
    experts = f"Experts({draw.choice([1, 2, 3])}, normalized={draw.choice(['True', 'False'])})"
    return draw.choice([feed, attention, attention, convolution, experts, "Twice()"])


_CLASS_LOSSES = [
    "F.cross_entropy({y}, {t}, reduction={r})",
    "F.cross_entropy({y}, {t}, label_smoothing=0.1, reduction={r})",
    "F.nll_loss(F.log_softmax({y}, -1), {t}, reduction={r})",
    "F.cross_entropy({y}, F.one_hot({t}, CLASSES).to({y}.dtype), reduction={r})",
]
# A mean of these counts other things than rows.
_SUM_LOSSES = [
    "F.cross_entropy({y}, {t}, torch.linspace(0.5, 2, CLASSES).to({y}.dtype), reduction={r})",
    "F.cross_entropy({y}, {t}.where({t} > 2, -100), reduction={r})",
    "(F.cross_entropy({y}, {t}, reduction='sum') + 0.01 * {y}.logsumexp(-1).square().sum())",
]
_NUMBER_LOSSES = [
    "F.mse_loss({y}, {t}, reduction={r})", "F.l1_loss({y}, {t}, reduction={r})",
    "F.smooth_l1_loss({y}, {t}, reduction={r})", "F.huber_loss({y}, {t}, reduction={r}, delta=0.5)",
    "F.binary_cross_entropy_with_logits({y}, {t}.sigmoid(), reduction={r})",
    "F.binary_cross_entropy({y}.sigmoid(), ({t} > 0).to({t}.dtype), reduction={r})",
    "F.kl_div(F.log_softmax({y}, -1), {t}.softmax(-1), reduction={r})",
    "F.soft_margin_loss({y}, {t}.sign(), reduction={r})",
    "F.poisson_nll_loss({y}, {t}.exp(), reduction={r})",
]  # fmt: skip


def _loss(chosen: Choices, draw: random.Random) -> None:
    is_class = chosen.family == "text" or draw.random() < 0.5
    texts = _CLASS_LOSSES if is_class else _NUMBER_LOSSES
    if is_class and not chosen.means:
        texts = texts + _SUM_LOSSES
    if chosen.wrapper in ("sp", "tp_fsdp") and draw.random() < 0.5:
        # loss_parallel has cross entropy with the mean or sum alone.
        texts = [texts[0]]
        chosen.is_loss_parallel = True
    text = draw.choice(texts)
    of_rows = "LENGTH" if chosen.family == "text" else "1"
    y, target = ("y.flatten(0, 1)", "t.flatten()") if chosen.family == "text" else ("y", "t")
    elements = f"{chosen.rows} * {of_rows}" if is_class else f"{chosen.rows} * CLASSES"
    chosen.loss = text.format(y=y, t=target, r='"mean"' if chosen.means else '"sum"')
    if chosen.means and chosen.micro > 1:
        chosen.loss += f" / {chosen.micro}"
    if not chosen.means:
        chosen.loss += f" / ({elements})"
    places = ", LENGTH" if chosen.family == "text" else ""
    chosen.target = (
        f"torch.randint(CLASSES, (2, {chosen.rows}{places}), generator=generator)"
        if is_class
        else f"torch.randn(2, {chosen.rows}, CLASSES, generator=generator).to(torch.{chosen.dtype})"
    )


_OPTIMIZERS = [
    "AdamW({p}, lr=0.01, foreach=False)", "AdamW({p}, lr=0.01, foreach=True)",
    "AdamW({p}, lr=0.01, fused=True)", "AdamW({p}, lr=0.01, amsgrad=True)",
    "Adam({p}, lr=0.01, weight_decay=0.1)", "Adam({p}, lr=0.01, fused=True)",
    "SGD({p}, lr=0.1)", "SGD({p}, lr=0.1, momentum=0.9)",
    "SGD({p}, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)", "NAdam({p}, lr=0.01)",
    "RAdam({p}, lr=0.01)", "Adagrad({p}, lr=0.01)", "RMSprop({p}, lr=0.01, momentum=0.5)",
    "Adadelta({p}, lr=0.1)", "Adamax({p}, lr=0.01)", "ASGD({p}, lr=0.01)", "Muon",
]  # fmt: skip

# PyTorch itself refuses these for DTensors, the last for parts of sums.
_OF_PLAIN_TENSORS = [
    "Adafactor({p}, lr=0.01)", "SGD({p}, lr=0.1, fused=True)", "Rprop({p}, lr=0.01)",
]  # fmt: skip


def _optimizer(chosen: Choices, draw: random.Random) -> None:
    plain = chosen.wrapper in ("hand", "ddp", "ep")
    text = draw.choice(_OPTIMIZERS + (_OF_PLAIN_TENSORS if plain else []))
    if text == "Muon":
        chosen.optimizers = [
            "matrices = [each for each in model.parameters() if each.dim() == 2]",
            "known = set(map(id, matrices))",
            "rest = [each for each in model.parameters() if id(each) not in known]",
            "optimizers = [torch.optim.Muon(matrices, lr=0.01), torch.optim.AdamW(rest, lr=0.01)]",
        ]
        if not plain:
            chosen.may += (PRODUCTS, PARTS, MOMENTUM)
    else:
        chosen.optimizers = [f"optimizers = [torch.optim.{text.format(p='model.parameters()')}]"]
    if chosen.wrapper == "ep_fsdp" and text != "Muon":
        owned = "{name: each for name, each in model.named_parameters() if '.owned.' in name}"
        chosen.optimizers = [
            f"owned = {owned}",
            "others = [each for name, each in model.named_parameters() if name not in owned]",
            "optimizers = [",
            f"    torch.optim.{text.format(p='each')} for each in (list(owned.values()), others)",
            "]",
        ]
    if "momentum" in text and "tp" in chosen.layout:
        chosen.may += (PARTS, MOMENTUM)  # of gradients of norms, which are parts of sums
    chosen.clip = draw.choice(
        [
            "",
            "nn.utils.clip_grad_norm_(model.parameters(), 0.1)",
            "nn.utils.clip_grad_norm_(model.parameters(), 0.1, foreach=False)",
            "nn.utils.clip_grad_norm_(model.parameters(), 0.01, norm_type=float('inf'))",
            "nn.utils.clip_grad_value_(model.parameters(), 0.01)",
        ]
    )
    if "tp" in chosen.layout and "value" in chosen.clip:
        chosen.clip = ""  # PyTorch refuses it for parts of sums
    if "ep" in chosen.layout and ("norm_" in chosen.clip or chosen.wrapper == "ep_fsdp"):
        chosen.clip = ""  # PyTorch has no norm of experts' gradients on ranks, or beside shards
    if "inf" in chosen.clip and chosen.wrapper == "fsdp" and _has_empty_shards(chosen):
        chosen.clip = ""  # PyTorch has no largest element of a shard without elements


def _has_empty_shards(chosen: Choices) -> bool:
    """True if some rank has no rows of a router, or of the keys and values of few heads."""
    each, ranks = layers.WIDTH // layers.HEADS, chosen.data_ranks
    text = str(chosen.layers)
    rows = [each * int(heads) for heads in re.findall(r"(?:Attention|Softmax)\((\d)", text)]
    if "Experts(" in text:
        rows.append(layers.EXPERTS)
    return any(-(-count // ranks) * (ranks - 1) >= count for count in rows)


def _wrap(chosen: Choices, draw: random.Random) -> None:
    reshard = draw.choice(["True", "False"])
    each = draw.choice(["True", "True", "False"])
    divides = "True"
    ranks = chosen.data_ranks
    if chosen.wrapper in ("hand", "ep"):
        pass
    elif chosen.wrapper == "ddp":
        bucket = draw.choice(["25", "0.0001", "0.001"])
        view = draw.choice(["True", "False"])
        chosen.wrap = [
            "model = DistributedDataParallel(",
            f'    model, process_group=mesh["dp"].get_group(), bucket_cap_mb={bucket},',
            f"    gradient_as_bucket_view={view},",
            ")",
        ]
        if not chosen.means:
            chosen.loss += " * mesh.size()"
    elif chosen.wrapper == "ep_fsdp":
        divides = "False"
        chosen.wrap = [
            "for layer in model.layers:",
            "    if isinstance(layer.body, SentExperts):",
            "        ignored = set(layer.body.owned.parameters())",
            'fully_shard(model, mesh=mesh["ep"], ignored_params=ignored, '
            f"mp_policy={chosen.policy})",
            "model.set_gradient_divide_factor(1.0)",
        ]
    else:
        if "tp" in chosen.layout:
            sequence = chosen.wrapper != "tp"
            chosen.wrap = [
                'if mesh["tp"].size() > 1:',
                f'    tensor_parallel(model, mesh["tp"], sequence={sequence}, '
                f"loss={chosen.is_loss_parallel})",
            ]
        if chosen.wrapper in ("fsdp", "hsdp", "tp_fsdp"):
            if not chosen.means:
                divides = draw.choice(["False", "scaled"])
            mesh = "mesh" if chosen.wrapper == "hsdp" else 'mesh["dp"]'
            chosen.wrap.append(
                f"shard(model, {mesh}, {chosen.policy}, reshard={reshard}, layers={each}, "
                f"divides={divides != 'False'})"
            )
            if divides == "scaled":
                chosen.loss += f" * {mesh}.size()"
    scaled = chosen.means or divides == "scaled" or chosen.wrapper == "ddp"
    if scaled and ranks & (ranks - 1) and not chosen.must:
        chosen.must = THIRDS
