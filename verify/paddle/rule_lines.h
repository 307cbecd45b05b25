#pragma once

#include <string>
#include <vector>

namespace simmesh {

// paddle_rule_lines writes the sharding rules of Paddle's ops out as recorded cases of kind
// `rules`, one line an op: those ops that an operator of PyTorch does the same as. On one mesh dim
// of two ranks each combination of R, S(d) and P(sum) is asked (indices and bools are never
// partial); a row is one that the rule takes as it is. `simmesh validate --rules` judges such a
// file.
std::vector<std::string> paddle_rule_lines();

}  // namespace simmesh
