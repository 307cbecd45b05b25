#include "core/ops/kernels/unrounded_fold.h"

#include "core/arithmetic/products/carried_product.h"
#include "core/arithmetic/unrounded.h"

namespace simmesh {

namespace {

// Returns the sums over the middle dim of [outer, count, inner].
CarriedSums summed(const Folded& terms) {
  CarriedSums all = unrounded(terms.data);
  std::vector<CarriedSums> parts;
  std::vector<std::int64_t> indices(std::size_t(terms.results()));
  for (std::int64_t k = 0; k < terms.count; ++k) {
    for (std::int64_t i = 0; i < terms.results(); ++i)
      indices[std::size_t(i)] = (i / terms.inner * terms.count + k) * terms.inner + i % terms.inner;
    parts.push_back(all.taken(indices));
  }
  return parts.empty() ? CarriedSums::zeros(terms.results()) : sum_of(parts);
}

}  // namespace

CarriedSums unrounded_fold(const Folded& terms) {
  return is_unrounded(terms.data) ? summed(terms) : carried_sum(terms.request(SumTerm::identity));
}

}  // namespace simmesh
