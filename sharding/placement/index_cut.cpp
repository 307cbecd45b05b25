#include "sharding/placement/index_cut.h"

#include <algorithm>

#include "core/check/check.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"

namespace simmesh {

namespace {

struct LocalRun {
  std::int64_t start;
  std::int64_t length;
};

// Finds where a run of global indices begins locally, and how much of it can be copied at once.
LocalRun locate(const IndexRuns& held, const IndexRun& wanted) {
  std::int64_t local = 0;
  for (const IndexRun& run : held) {
    if (run.start <= wanted.start && wanted.start < run.end())
      return {local + wanted.start - run.start, std::min(wanted.end(), run.end()) - wanted.start};
    local += run.length;
  }
  SIMMESH_CHECK(false, "index {} isn't held", wanted.start);
}

}  // namespace

Tensor cut_indices(const Tensor& tensor, const IndexCut& cut) {
  Shape shape = tensor.shape();
  shape[std::size_t(cut.dim)] = index_count(cut.wanted);
  Tensor result = empty(shape, tensor.dtype());
  std::int64_t at = 0;
  for (IndexRun rest : cut.wanted) {
    while (rest.length > 0) {
      LocalRun local = locate(cut.held, rest);
      Tensor target = result.narrow({cut.dim, at, local.length});
      copy_(target, tensor.narrow({cut.dim, local.start, local.length}));
      at += local.length;
      rest.start += local.length;
      rest.length -= local.length;
    }
  }
  return result;
}

Tensor embed_indices(const Tensor& tensor, const IndexCut& cut) {
  NoGrad mode;
  Tensor added = add(zeros(tensor.shape(), tensor.dtype()), tensor);
  Shape shape = tensor.shape();
  shape[std::size_t(cut.dim)] = index_count(cut.wanted);
  Tensor result = zeros(shape, tensor.dtype());
  std::int64_t at = 0;
  for (IndexRun rest : cut.held) {
    while (rest.length > 0) {
      LocalRun local = locate(cut.wanted, rest);
      Tensor target = result.narrow({cut.dim, local.start, local.length});
      copy_(target, added.narrow({cut.dim, at, local.length}));
      at += local.length;
      rest.start += local.length;
      rest.length -= local.length;
    }
  }
  return result;
}

}  // namespace simmesh
