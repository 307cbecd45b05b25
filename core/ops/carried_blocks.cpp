#include <algorithm>

#include <simmesh/core/ops/carried_blocks.h>

namespace simmesh {

namespace {

// Limbs, or counts, of blocks as those of the tensor: lead dims before the tensor's.
Tensor in_tensor_order(const Tensor& blocks, std::int64_t lead, const Shape& shape,
                       const Dims& order) {
  Dims sizes, back(order.size() + std::size_t(lead));
  for (std::int64_t dim = 0; dim < lead; ++dim) {
    sizes.push_back(blocks.size(dim));
    back[std::size_t(dim)] = dim;
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    sizes.push_back(shape[std::size_t(order[i])]);
    back[std::size_t(lead + order[i])] = lead + std::int64_t(i);
  }
  return blocks.view(sizes).permute(back).contiguous();
}

}  // namespace

Gradient carried_blocks(const GradientCall& call, std::size_t input, const CarriedBlocks& blocks) {
  const TensorType& type = call.input_type(input);
  CarriedSum sum(type.shape, type.dtype);
  std::int64_t elements = element_count(type.shape);
  if (elements == 0) return sum;
  Places kept, places;
  for (std::size_t i = 0; i < blocks.places.size(); ++i) {
    if (blocks.places[i] < 0) continue;
    kept.push_back(std::int64_t(i));
    places.push_back(blocks.places[i]);
  }
  auto count = std::int64_t(kept.size());
  Tensor rows = empty({count, blocks.block}, blocks.source.dtype());
  Tensor source = blocks.source.contiguous(), indices = empty({count}, DType::int64);
  if (rows.has_elements()) {
    take_blocks(source, kept, blocks.block, rows);
    std::copy(places.begin(), places.end(), indices.mutable_values<std::int64_t>().begin());
  }
  CarriedSum by_block({elements / blocks.block, blocks.block}, type.dtype);
  by_block.add_rows(indices, rows);

  Dims order = blocks.order;
  for (std::int64_t dim = std::int64_t(order.size()); dim < std::int64_t(type.shape.size()); ++dim)
    order.push_back(dim);
  sum.replace_limbs(in_tensor_order(by_block.limbs(), 1, type.shape, order), 1);
  if (by_block.non_finite().is_defined())
    sum.replace_non_finite(in_tensor_order(by_block.non_finite(), 0, type.shape, order));
  return sum;
}

}  // namespace simmesh
