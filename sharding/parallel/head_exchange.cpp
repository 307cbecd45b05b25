#include "sharding/parallel/head_exchange.h"

#include "collectives/collectives.h"
#include "core/autograd/function.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

constexpr FunctionOptions moves_elements = {.moves = true};

}  // namespace

Tensor HeadExchange::heads_exchanged(const Tensor& x) const {
  std::int64_t unit = x.size(1) / options_.units;
  std::vector<Tensor> pieces;
  for (std::int64_t rank = 0; rank < group_.size(); ++rank) {
    Chunk units = chunk_of({.size = options_.units, .parts = group_.size(), .index = rank});
    pieces.push_back(contiguous(narrow(x, {1, units.start * unit, units.length * unit})));
  }
  return in_sequence_order(all_to_all_list(pieces, group_), 2, options_.split);
}

Tensor HeadExchange::sequence_exchanged(const Tensor& x) const {
  std::vector<Tensor> pieces;
  for (const Tensor& piece : by_rank(x, 2, options_.split)) pieces.push_back(contiguous(piece));
  return cat(all_to_all_list(pieces, group_), 1);
}

Tensor HeadExchange::to_heads(const Tensor& x) const {
  Tensor result = heads_exchanged(x.detach());
  record_function(
      "sequence_to_heads", {x}, {&result},
      [self = *this](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
        return {self.sequence_exchanged(gradients[0])};
      },
      moves_elements);
  return result;
}

Tensor HeadExchange::to_sequence(const Tensor& x) const {
  Tensor result = sequence_exchanged(x.detach());
  record_function(
      "heads_to_sequence", {x}, {&result},
      [self = *this](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
        return {self.heads_exchanged(gradients[0])};
      },
      moves_elements);
  return result;
}

}  // namespace simmesh
