#include "core/nn/moe_routing.h"

#include <algorithm>

namespace simmesh::nn {

std::vector<std::int64_t> choice_counts(const Tensor& chosen, std::int64_t experts) {
  std::vector<std::int64_t> counts(std::size_t(chosen.size(1) * experts), 0);
  Tensor rows = chosen.contiguous();
  auto values = rows.values<std::int64_t>();
  for (std::size_t slot = 0; slot < values.size(); ++slot) {
    std::size_t choice = slot % std::size_t(chosen.size(1));
    ++counts[choice * std::size_t(experts) + std::size_t(values[slot])];
  }
  return counts;
}

std::vector<std::int64_t> rows_ahead(const std::vector<std::vector<std::int64_t>>& of_parts,
                                     std::size_t part, std::int64_t experts) {
  std::vector<std::int64_t> ahead(of_parts.at(part).size(), 0);
  for (std::size_t slot = 0; slot < ahead.size(); ++slot) {
    for (std::size_t earlier = slot % std::size_t(experts); earlier < slot;
         earlier += std::size_t(experts))
      for (const std::vector<std::int64_t>& counts : of_parts) ahead[slot] += counts[earlier];
    for (std::size_t before = 0; before < part; ++before) ahead[slot] += of_parts[before][slot];
  }
  return ahead;
}

std::vector<ExpertTokens> assign_tokens(const Tensor& chosen, const ExpertLimits& limits) {
  std::vector<ExpertTokens> result(static_cast<std::size_t>(limits.experts));
  std::int64_t tokens = chosen.size(0), top_k = chosen.size(1);
  Tensor rows = chosen.contiguous();
  auto experts = rows.values<std::int64_t>();
  std::vector<std::int64_t> places(result.size(), 0);
  for (std::int64_t choice = 0; choice < top_k; ++choice) {
    if (!limits.ahead.empty())
      std::copy_n(limits.ahead.begin() + choice * limits.experts, limits.experts, places.begin());
    for (std::int64_t token = 0; token < tokens; ++token) {
      std::int64_t slot = token * top_k + choice;
      auto index = std::size_t(experts[std::size_t(slot)]);
      std::int64_t place = places[index]++;
      if (limits.capacity > 0 && place >= limits.capacity) continue;
      result[index].tokens.push_back(token);
      result[index].slots.push_back(slot);
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
