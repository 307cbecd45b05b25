#include "core/ops/random/random.h"

#include "core/ops/call.h"
#include "sharding/dtensor/local_boxes.h"
#include "sharding/strategies/like_rows.h"
#include "sharding/strategies/pointwise_rows.h"
#include "sharding/strategies/strategy_table.h"

namespace simmesh {

namespace {

// Returns the attributes of the draw of a box of the logical tensor; a call may itself draw a part
// of a larger tensor.
Attributes draw_of(const LocalCall& call, const LocalBox& box) {
  Attributes attributes = call.attributes;
  Dims offset = box.global_offset;
  if (attributes.has(attribute::global_shape)) {
    const Dims& start = attributes.get(attribute::global_offset);
    for (std::size_t dim = 0; dim < offset.size(); ++dim) offset[dim] += start[dim];
  } else {
    attributes.set(attribute::global_shape = call.output_specs[0]->shape);
  }
  attributes.set(attribute::global_offset = offset);
  return attributes;
}

Tensor part_of(Tensor piece, const LocalBox& box) {
  for (std::size_t dim = 0; dim < box.shape.size(); ++dim)
    piece = piece.narrow({std::int64_t(dim), box.local_offset[dim], box.shape[dim]});
  return piece;
}

std::vector<Tensor> drawn_in_box(const LocalCall& call, const LocalBox& box) {
  std::vector<Tensor> parts;
  for (const Tensor& input : call.inputs) parts.push_back(part_of(input, box));
  return simmesh::call(call.op, parts, draw_of(call, box));
}

// A rank draws the numbers that one device draws for its piece.
std::vector<Tensor> drawn_as_whole(const LocalCall& call) {
  if (call.output_specs[0]->shape.empty())
    return simmesh::call(call.op, call.inputs, call.attributes);
  std::vector<LocalBox> boxes = local_boxes(*call.output_specs[0]);
  if (boxes.size() == 1) return drawn_in_box(call, boxes[0]);
  std::vector<Tensor> outputs;
  for (const TensorType& type : infer_types(call.op, types_of(call.inputs), call.attributes))
    outputs.push_back(empty(type.shape, type.dtype));
  for (const LocalBox& box : boxes) {
    std::vector<Tensor> drawn = drawn_in_box(call, box);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Tensor target = part_of(outputs[i], box);
      copy_(target, drawn[i]);
    }
  }
  return outputs;
}

ShardingStrategy drawn_for_elements() {
  ShardingStrategy strategy = elementwise();
  strategy.compute = drawn_as_whole;
  return strategy;
}

ShardingStrategy drawn_like() {
  return {.over_mesh = follow_input, .accepts_short_dims = true, .compute = drawn_as_whole};
}

}  // namespace

void random_strategies(StrategyTable& table) {
  static const OpStrategy strategies[] = {
      {"rand", {}},
      {"randn", {}},
      {"rand_like", drawn_like()},
      {"randn_like", drawn_like()},
      {"bernoulli", drawn_for_elements()},
      {"native_dropout", drawn_for_elements()},
  };
  table.add(strategies);
}

}  // namespace simmesh
