"""If the dim that a function reduces is cut, each rank reduces its piece, and something is left
to do. For a sum it is a sum. For a maximum it is a maximum, and for logsumexp it is a logsumexp.
The rules of Paddle 3.3.1 said "a sum" for all of them: amax, prod, all, logsumexp, p_norm. The
maxima of four ranks, added up, are no maximum of anything. It was found by simmesh's check of
Paddle's rules. It shows in a rule check with the smallest tensor for which it fails.
"""

import simmesh
from simmesh.museum import Exhibit, Rule


@simmesh.rule("S(1) -> P", inputs=["mn"], pieces=["even"])
def wrong(x):
    return x.amax(1)


@simmesh.rule("S(1) -> P(max)", inputs=["mn"], pieces=["even"])
def right(x):
    return x.amax(1)


EXHIBIT = Exhibit(
    title="The sum of the maxima",
    source="PaddlePaddle 3.3.1, rules of amax and others",
    date="2026-11",
    check=Rule(),
    wrong=wrong,
    right=right,
    at_fault="S(1) -> P",
)
