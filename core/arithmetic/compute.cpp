#include "core/arithmetic/compute.h"

#include "core/arithmetic/products/exact_product.h"
#include "core/arithmetic/products/product.h"
#include "core/arithmetic/reductions/combine.h"
#include "core/arithmetic/reductions/exact_order.h"
#include "core/arithmetic/reductions/rank_order.h"
#include "core/arithmetic/reductions/vendor_orders.h"
#include "core/arithmetic/sums/exact_sums.h"
#include "core/check/check.h"

namespace simmesh {

void compute(const Arithmetic& arithmetic, const Product& product) {
  arithmetic.is_exact() ? exact_product(product) : canonical_product(product);
}

void compute(const Arithmetic& arithmetic, const SumRequest& sums) {
  arithmetic.is_exact() ? exact_sum(sums) : canonical_sum(sums);
}

void compute(const Arithmetic& arithmetic, const Reduction& reduction) {
  SIMMESH_CHECK(!reduction.operands.empty(), "a reduction without operands");
  check_reduction(reduction.op, reduction.dtype);
  if (reduction.count == 0) return;
  switch (arithmetic.mode()) {
    case Arithmetic::Mode::canonical:
    case Arithmetic::Mode::rank_order: return RankOrder().reduce(reduction);
    case Arithmetic::Mode::exact: return ExactOrder().reduce(reduction);
    case Arithmetic::Mode::as_nccl_ring:
      return NcclRingOrder(arithmetic.nccl_ring()).reduce(reduction);
    case Arithmetic::Mode::as_nccl_tree:
      return NcclTreeOrder(arithmetic.nccl_tree()).reduce(reduction);
    case Arithmetic::Mode::as_gloo_ring: return GlooRingOrder().reduce(reduction);
  }
}

bool adds_by_owner(const Arithmetic& arithmetic) {
  return arithmetic.mode() == Arithmetic::Mode::as_nccl_ring;
}

}  // namespace simmesh
