"""For each prompt a model writes four answers, and each answer's reward is compared with the mean
of its four. AReaL found the groups by counting: rows 0 to 3, 4 to 7, and so on. Sometimes an answer
fails and its group has three rows. From there on each group takes a row of the next prompt. No
number is strange: rewards have a mean, only that of others. On several ranks the count begins anew
on each of them, so the damage depends on the number of ranks. The cure keeps the number of the
prompt with each row. It shows in the advantages of the row after the gap.
"""

import torch
import torch.distributed as dist
from torch import nn

import simmesh
from simmesh.museum import Exhibit, SameAsOneDevice

PROMPTS = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
REWARDS = torch.randn(len(PROMPTS), generator=torch.Generator().manual_seed(1))
STATES = torch.randn(len(PROMPTS), 3, generator=torch.Generator().manual_seed(2))


def means_by_stride(rewards, prompts):
    groups = rewards.split(4)
    return torch.cat([group.mean().expand(len(group)) for group in groups])


def means_by_prompt(rewards, prompts):
    same = (prompts[:, None] == prompts).float()
    return same @ rewards / same.sum(1)


def train(mesh, means):
    torch.manual_seed(0)
    policy = nn.Linear(3, 1)
    rank, size = mesh.get_local_rank(), mesh.size()
    mine = torch.isin(PROMPTS, torch.arange(4).chunk(size)[rank])
    rewards = REWARDS[mine]
    advantages = simmesh.note("advantages", rewards - means(rewards, PROMPTS[mine]))
    (-(policy(STATES[mine]).squeeze(1) * advantages).sum() / len(PROMPTS)).backward()
    for parameter in policy.parameters():
        dist.all_reduce(parameter.grad, group=mesh.get_group())
    torch.optim.SGD(policy.parameters(), lr=0.1).step()


def wrong(mesh):
    train(mesh, means_by_stride)


def right(mesh):
    train(mesh, means_by_prompt)


EXHIBIT = Exhibit(
    title="A row of the next prompt",
    source="areal-project/AReaL #1419",
    date="2026-06-16",
    check=SameAsOneDevice(ranks=2),
    wrong=wrong,
    right=right,
    at_fault="advantages",
)
