#include "core/nn/moe_routing.h"

#include <algorithm>
#include <cmath>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/tensor/convert.h"
#include "core/tensor/known_tensor.h"

namespace simmesh::nn {

namespace {

// Experts by slot.
class Choices {
 public:
  // The choices of other ranks may come damaged. Raises an IndexError for an expert out of range.
  Choices(const Tensor& chosen, std::int64_t experts)
      : rows_(chosen.contiguous()), tokens_(chosen.size(0)), top_k_(chosen.size(1)) {
    for (std::int64_t expert : rows_.values<std::int64_t>())
      if (expert < 0 || expert >= experts)
        raise(ErrorKind::index_error, "nn/moe", "expected an expert below {}, got {}", experts,
              expert);
  }

  std::int64_t tokens() const { return tokens_; }
  std::int64_t top_k() const { return top_k_; }
  std::size_t expert(std::int64_t slot) const {
    return std::size_t(rows_.values<std::int64_t>()[std::size_t(slot)]);
  }

  // Calls use(slot) for all first choices, then for all second ones, and so on.
  template <class Use>
  void each(Use use) const {
    for (std::int64_t choice = 0; choice < top_k_; ++choice)
      for (std::int64_t token = 0; token < tokens_; ++token) use(token * top_k_ + choice);
  }

 private:
  Tensor rows_;
  std::int64_t tokens_, top_k_;
};

bool is_higher(double a, double b) {
  return std::isnan(a) ? !std::isnan(b) : !std::isnan(b) && a > b;
}

// Sorts slots, which are in the order of choices, into the order in which they fill a capacity.
void put_in_order(std::vector<std::int64_t>& slots, DropOrder order, const Tensor& scores) {
  if (order == DropOrder::choice) return;
  std::sort(slots.begin(), slots.end());
  if (order != DropOrder::probability) return;
  auto values = scores.values<double>();
  std::stable_sort(slots.begin(), slots.end(), [&](std::int64_t a, std::int64_t b) {
    return is_higher(values[std::size_t(a)], values[std::size_t(b)]);
  });
}

}  // namespace

std::vector<bool> kept_slots(const Tensor& chosen, const ExpertLimits& limits,
                             const Tensor& scores) {
  Choices choices(chosen, limits.experts);
  std::vector<bool> kept(std::size_t(choices.tokens() * choices.top_k()), true);
  if (limits.capacity <= 0 || limits.order == DropOrder::none) return kept;
  SIMMESH_CHECK(limits.order != DropOrder::probability || scores.is_defined(),
                "expected the scores of the choices");
  Tensor values;
  if (limits.order == DropOrder::probability)
    values = known_tensor(converted(scores.detach(), DType::float64).contiguous(), "scores");
  std::vector<std::vector<std::int64_t>> of_experts(static_cast<std::size_t>(limits.experts));
  choices.each([&](std::int64_t slot) { of_experts[choices.expert(slot)].push_back(slot); });
  for (std::vector<std::int64_t>& slots : of_experts) {
    if (slots.size() <= std::size_t(limits.capacity)) continue;
    put_in_order(slots, limits.order, values);
    for (std::size_t i = std::size_t(limits.capacity); i < slots.size(); ++i)
      kept[std::size_t(slots[i])] = false;
  }
  return kept;
}

std::vector<ExpertTokens> tokens_of_experts(const Tensor& chosen, std::int64_t experts,
                                            const std::vector<bool>& kept) {
  Choices choices(chosen, experts);
  std::vector<ExpertTokens> result(static_cast<std::size_t>(experts));
  choices.each([&](std::int64_t slot) {
    if (!kept[std::size_t(slot)]) return;
    ExpertTokens& expert = result[choices.expert(slot)];
    expert.tokens.push_back(slot / choices.top_k());
    expert.slots.push_back(slot);
  });
  return result;
}

std::vector<ExpertTokens> assign_tokens(const Tensor& chosen, const ExpertLimits& limits,
                                        const Tensor& scores) {
  return tokens_of_experts(chosen, limits.experts, kept_slots(chosen, limits, scores));
}

std::vector<std::int64_t> loads_of(const Tensor& chosen, std::int64_t experts) {
  Choices choices(chosen, experts);
  std::vector<std::int64_t> loads(static_cast<std::size_t>(experts), 0);
  choices.each([&](std::int64_t slot) { ++loads[choices.expert(slot)]; });
  return loads;
}

}  // namespace simmesh::nn
