"""Tokens travel to the ranks of their experts, and the results travel back. Sometimes no token
chooses any expert of a rank. torchtitan's experts then had nothing to do, and in a sharded model
nothing to do meant that they didn't gather their weights. Gathering is a collective: the other
ranks wait for the one that skipped it. It happens after hours, at the first batch that leaves a
rank without work, and looks like a broken network. It shows in a run with few tokens: who waits
where, and who isn't coming.
"""

import torch
import torch.distributed as dist

from simmesh.museum import Exhibit, Schedules


def gathered(shard):
    parts = [torch.empty_like(shard) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, shard)
    return torch.cat(parts)


def route(tokens):
    """Sends each token to the rank of its expert, which is its sign."""
    owner = (tokens > 0).long()
    sent = torch.bincount(owner, minlength=2)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent)
    result = tokens.new_empty(int(received.sum()))
    tokens = tokens[owner.argsort(stable=True)]
    dist.all_to_all_single(result, tokens, received.tolist(), sent.tolist())
    return result


def step(skips):
    tokens = route(torch.tensor([1.0, 2.0, 3.0]))
    shard = torch.ones(2) * dist.get_rank()
    if skips and len(tokens) == 0:
        return tokens
    weight = gathered(shard)
    return tokens * weight.sum()


def wrong():
    return step(skips=True)


def right():
    return step(skips=False)


EXHIBIT = Exhibit(
    title="The expert who had no work",
    source="pytorch/torchtitan PR 1718",
    date="2025-09-18",
    check=Schedules(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="dist.all_gather(parts, shard)",
)
