#pragma once

#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// OptimizerType is a class of optimisers: its name in a file, its params and their defaults. Idle
// params change nothing here: they choose a kernel.
struct OptimizerType {
  std::string name;
  bool is_deepspeeds = true;  // known in letters of any case
  std::vector<std::string> params = {};
  std::vector<std::string> idle = {};
  bool ignores_others = false;  // leaves other params alone
  OptimizerConfig defaults = {};
};

// optimizer_type returns the type of a name. Raises ValueErrors for optimisers that simmesh doesn't
// have, AssertionErrors for names that neither DeepSpeed nor torch.optim has, and what PyTorch
// raises for those that DeepSpeed makes but can't step.
const OptimizerType& optimizer_type(const std::string& name);

// torch_adam_type is PyTorch's class of Adam or AdamW.
OptimizerType torch_adam_type(const std::string& name);

// check_optimizer_values raises a ValueError that names a param out of the range that its class
// takes.
void check_optimizer_values(const OptimizerConfig& optimizer);

}  // namespace simmesh::zero
