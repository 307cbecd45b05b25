#include "core/arithmetic/arithmetic.h"

#include <cstring>

#include "core/arithmetic/combine.h"
#include "core/arithmetic/exact_order.h"
#include "core/arithmetic/rank_order.h"
#include "core/arithmetic/vendor_orders.h"
#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

Arithmetic Arithmetic::canonical() { return {"canonical", std::make_shared<RankOrder>()}; }
Arithmetic Arithmetic::rank_order() { return {"rank_order", std::make_shared<RankOrder>()}; }
Arithmetic Arithmetic::exact() { return {"exact", std::make_shared<ExactOrder>(), true}; }
Arithmetic Arithmetic::as_nccl_ring(NcclRing options) {
  return {"as_nccl_ring", std::make_shared<NcclRingOrder>(options)};
}
Arithmetic Arithmetic::as_nccl_tree(NcclTree options) {
  return {"as_nccl_tree", std::make_shared<NcclTreeOrder>(options)};
}
Arithmetic Arithmetic::as_gloo_ring() {
  return {"as_gloo_ring", std::make_shared<GlooRingOrder>()};
}

Arithmetic Arithmetic::parse(std::string_view name) {
  if (name == "canonical") return canonical();
  if (name == "rank_order") return rank_order();
  if (name == "exact") return exact();
  if (name == "as_nccl_ring") return as_nccl_ring();
  if (name == "as_nccl_tree") return as_nccl_tree();
  if (name == "as_gloo_ring") return as_gloo_ring();
  raise(
      ErrorKind::value_error, "arithmetic",
      "expected canonical, exact, rank_order, as_nccl_ring, as_nccl_tree or as_gloo_ring, got '{}'",
      name);
}

void Arithmetic::product(const Product& product) const {
  is_exact() ? exact_product(product) : canonical_product(product);
}

void Arithmetic::sum(const SumRequest& request) const {
  is_exact() ? exact_sum(request) : canonical_sum(request);
}

void Arithmetic::reduce(const Reduction& reduction) const {
  SIMMESH_CHECK(!reduction.operands.empty(), "a reduction without operands");
  check_reduction(reduction.op, reduction.dtype);
  if (reduction.count > 0) order_->reduce(reduction);
}

}  // namespace simmesh
