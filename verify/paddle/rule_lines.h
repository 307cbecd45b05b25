#pragma once

#include <string>
#include <vector>

namespace simmesh {

// paddle_rule_lines writes the sharding rules of Paddle's ops out as recorded cases of kind
// `rules`, one line an op: those ops for which PyTorch has an operator that does the same. On one
// mesh dim of two ranks each combination of R, S(d) and P(sum) is tried (indices and bools are
// never partial); a row is a combination that the rule takes unchanged. `simmesh validate --rules`
// judges such a file.
std::vector<std::string> paddle_rule_lines();

}  // namespace simmesh
