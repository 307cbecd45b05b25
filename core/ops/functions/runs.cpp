#include "core/ops/functions/runs.h"

#include "core/ops/dim_list.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/functions/differences.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

// Returns bools [n]: true where a slice of x[n, ...] begins a run.
Tensor run_begins(const Tensor& x) {
  std::int64_t count = x.size(0);
  Tensor rows = reshape(x, {count, count == 0 ? 0 : x.numel() / count});
  if (count < 2) return ones({count}, DType::boolean);
  Tensor later = narrow(rows, {.dim = 0, .start = 1, .length = count - 1});
  Tensor earlier = narrow(rows, {.dim = 0, .start = 0, .length = count - 1});
  return cat({ones({1}, DType::boolean), any(ne(later, earlier), {1})}, 0);
}

}  // namespace

Runs unique_consecutive(const Tensor& given, std::optional<std::int64_t> dim) {
  Tensor x = given.detach();
  std::int64_t along = dim ? wrapped_dim(*dim, x.shape().size()) : 0;
  Tensor slices = dim && x.dim() > 0 ? transpose(x, 0, along) : flatten(x);
  Tensor begins = run_begins(slices);
  Tensor firsts = flatten(nonzero(begins));
  Tensor end = full({1}, DType::int64, double(begins.numel()));
  Tensor inverse = cumsum(to(begins, DType::int64), 0) - 1;
  return {.values =
              dim && x.dim() > 0 ? index_select(x, along, firsts) : index_select(slices, 0, firsts),
          .inverse = dim ? inverse : reshape(inverse, x.shape()),
          .counts = diff(firsts, {.append = end})};
}

}  // namespace simmesh
