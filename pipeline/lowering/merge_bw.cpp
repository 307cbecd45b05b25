#include "pipeline/lowering/merge_bw.h"

namespace simmesh::pipeline {

Row merge_bw(const Row& row) {
  Row result;
  for (const Action& action : row) {
    if (action.is_idle()) continue;
    ActionKey input{action.stage, ActionKind::backward_input, action.microbatch};
    bool follows_input = !result.empty() && result.back().key() == input;
    if (follows_input && action.kind == ActionKind::backward_weight)
      result.back().kind = ActionKind::full_backward;
    else
      result.push_back(action);
  }
  return result;
}

}  // namespace simmesh::pipeline
