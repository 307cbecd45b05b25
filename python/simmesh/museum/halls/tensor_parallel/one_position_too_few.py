"""The last token of a text has no next one, so a loss over next tokens drops the last position. A
helper for cut vocabularies drops it already. The caller didn't know, and dropped one more; for
whole vocabularies it was right. So with tensor parallelism the loss had one term less, and the same
divisor. Each loss is a little smaller, by 1 of 4,095 terms in a long text. A reviewer saw it before
it was merged. It shows in the loss that the program notes, at the line that cuts once more.
"""

import torch
import torch.nn.functional as F
from torch.distributed.tensor import DTensor, Shard

import simmesh
from simmesh.museum import Exhibit, SameAsOneDevice

TOKENS = torch.tensor([3, 1, 4, 1, 5, 0])


def logprobs_of(logits, tokens):
    """Log-probabilities of the next tokens, without the last position."""
    picked = F.log_softmax(logits, -1).gather(1, tokens.roll(-1)[:, None]).squeeze(1)
    return picked[:-1]


def loss(mesh, drops_again):
    torch.manual_seed(0)
    every = torch.randn(len(TOKENS), 6)
    piece = every.chunk(mesh.size(), 1)[mesh.get_local_rank()]
    logits = DTensor.from_local(piece, mesh, [Shard(1)])
    logprobs = logprobs_of(logits.full_tensor(), TOKENS)
    if mesh.size() > 1 and drops_again:
        logprobs = logprobs[:-1]
    global_valid_toks = len(TOKENS) - 1
    return simmesh.note("loss", -logprobs.sum() / global_valid_toks)


def wrong(mesh):
    loss(mesh, drops_again=True)


def right(mesh):
    loss(mesh, drops_again=False)


EXHIBIT = Exhibit(
    title="One position too few",
    source="NVIDIA-NeMo/RL PR 2745",
    date="2026-06-17",
    check=SameAsOneDevice(layouts=[{"tp": 2}]),
    wrong=wrong,
    right=right,
    at_fault="-logprobs.sum() / global_valid_toks",
)
