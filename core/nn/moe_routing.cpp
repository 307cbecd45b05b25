#include "core/nn/moe_routing.h"

#include <algorithm>

namespace simmesh::nn {

std::vector<ExpertTokens> assign_tokens(const Tensor& chosen, const ExpertLimits& limits) {
  std::vector<ExpertTokens> result(static_cast<std::size_t>(limits.experts));
  std::int64_t tokens = chosen.size(0), top_k = chosen.size(1);
  Tensor rows = chosen.contiguous();
  auto experts = rows.values<std::int64_t>();
  for (std::int64_t choice = 0; choice < top_k; ++choice) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      std::int64_t slot = token * top_k + choice;
      ExpertTokens& expert = result[std::size_t(experts[std::size_t(slot)])];
      if (limits.capacity > 0 && std::int64_t(expert.tokens.size()) >= limits.capacity) continue;
      expert.tokens.push_back(token);
      expert.slots.push_back(slot);
    }
  }
  return result;
}

Tensor index_tensor(const std::vector<std::int64_t>& values) {
  Tensor result = empty({std::int64_t(values.size())}, DType::int64);
  std::copy(values.begin(), values.end(), result.mutable_values<std::int64_t>().begin());
  return result;
}

}  // namespace simmesh::nn
