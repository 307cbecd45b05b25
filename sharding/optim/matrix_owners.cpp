#include "sharding/optim/matrix_owners.h"

#include <algorithm>
#include <numeric>

#include "core/check/error.h"

namespace simmesh {

namespace {

// Returns the sizes by which a parameter is cut: its own where a dim isn't cut.
Shape cut_sizes(DimSpan shape, DimSpan block) {
  Shape sizes(shape.begin(), shape.end());
  if (block.empty()) return sizes;
  if (block.size() != shape.size())
    raise(ErrorKind::value_error, "sharding/optim", "expected a block of {} sizes, got {}",
          shape.size(), to_string(block));
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    if (block[dim] < 0)
      raise(ErrorKind::value_error, "sharding/optim", "expected sizes of 0 and more, got {}",
            to_string(block));
    if (block[dim] > 0) sizes[dim] = block[dim];
  }
  return sizes;
}

std::vector<std::int64_t> owners_by_size(gsl::span<const MatrixBlock> blocks,
                                         std::int64_t members) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return step_work(blocks[a].shape) > step_work(blocks[b].shape);
  });
  std::vector<double> load(std::size_t(members), 0.0);
  std::vector<std::int64_t> owners(blocks.size());
  for (std::size_t i : order) {
    auto least = std::min_element(load.begin(), load.end());
    *least += step_work(blocks[i].shape);
    owners[i] = least - load.begin();
  }
  return owners;
}

}  // namespace

std::vector<MatrixBlock> matrix_blocks(std::size_t parameter, DimSpan shape, DimSpan block) {
  Shape sizes = cut_sizes(shape, block), counts;
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    counts.push_back((shape[dim] + sizes[dim] - 1) / std::max<std::int64_t>(sizes[dim], 1));
  if (numel(shape) == 0)
    return {{parameter, Dims(shape.size(), 0), Shape(shape.begin(), shape.end())}};
  std::vector<MatrixBlock> blocks;
  Dims index(shape.size(), 0);
  do {
    MatrixBlock& one = blocks.emplace_back(MatrixBlock{.parameter = parameter});
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      one.offset.push_back(index[dim] * sizes[dim]);
      one.shape.push_back(std::min(sizes[dim], shape[dim] - one.offset[dim]));
    }
  } while (next_index(index, counts));
  return blocks;
}

double step_work(DimSpan shape) {
  double work = 1.0;
  for (std::int64_t size : shape) work *= double(size);
  if (shape.size() < 2) return work;
  return work * double(std::min(shape[shape.size() - 2], shape[shape.size() - 1]));
}

std::vector<std::int64_t> block_owners(gsl::span<const MatrixBlock> blocks, OwnerRule rule,
                                       std::int64_t members) {
  if (rule == OwnerRule::by_size) return owners_by_size(blocks, members);
  std::vector<std::int64_t> owners;
  for (std::size_t i = 0; i < blocks.size(); ++i) owners.push_back(std::int64_t(i) % members);
  return owners;
}

}  // namespace simmesh
