"""DeepSpeed keeps a list of the parameters that are being fetched, so that none is fetched twice.
Hooks of the backward pass look into it, and add what they fetch. A module with several outputs
has its hooks on several threads, since autograd runs branches side by side. Two of them look,
both see that a parameter isn't there, and both add it. The count of what is under way is wrong
from then on; what follows depends on luck. It shows under a schedule that changes the thread
between the look and the entry.
"""

import threading

from simmesh.museum import Exhibit, Schedules


class InFlight:
    def __init__(self):
        self.lock, self.names = threading.Lock(), []

    def is_there(self, name):
        with self.lock:
            return name in self.names

    def add(self, name):
        with self.lock:
            self.names.append(name)

    def add_if_missing(self, name):
        with self.lock:
            if name not in self.names:
                self.names.append(name)


def look_and_add(in_flight):
    if not in_flight.is_there("weight"):
        in_flight.add("weight")


def at_once(in_flight):
    in_flight.add_if_missing("weight")


def backward(hook):
    in_flight = InFlight()
    branches = [threading.Thread(target=hook, args=(in_flight,)) for _ in range(2)]
    for branch in branches:
        branch.start()
    for branch in branches:
        branch.join()
    return in_flight.names


def wrong():
    return backward(look_and_add)


def right():
    return backward(at_once)


EXHIBIT = Exhibit(
    title="Both looked, both saw nothing",
    source="deepspeedai/DeepSpeed PR 7825",
    date="2026-01-30",
    check=Schedules(ranks=1, schedules=20),
    wrong=wrong,
    right=right,
    at_fault="expected equal bits under every schedule",
)
