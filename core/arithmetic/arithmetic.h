#pragma once

#include <cstdint>
#include <gsl/span>
#include <memory>
#include <string>
#include <string_view>

#include "core/arithmetic/product.h"
#include "core/arithmetic/reduce_op.h"
#include "core/arithmetic/sums.h"
#include "core/check/bits_hash.h"
#include "core/tensor/dtype.h"

namespace simmesh {

// Reduction is one reduction over the members of a group: contiguous operands of count elements
// each, in group order.
struct Reduction {
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::float32;
  double factor = 1.0;  // of premul_sum
  gsl::span<const std::byte* const> operands;
  std::int64_t count = 0;
  std::byte* result = nullptr;
  // owner is the member that alone keeps these elements of a reduce-scatter; -1 where all members
  // keep them.
  std::int64_t owner = -1;
  // Where given, takes the result's bytes in ascending order while they are still in the cache.
  BitsHash* hash = nullptr;
};

// ReductionOrder is the seam behind Arithmetic: how the terms of a sum are added up.
class ReductionOrder {
 public:
  virtual ~ReductionOrder() = default;
  virtual void reduce(const Reduction& reduction) const = 0;

  // adds_by_owner says whether a reduce-scatter must reduce each member's elements on their own,
  // with the owner given.
  virtual bool adds_by_owner() const { return false; }
};

// Arithmetic says how a World adds: a value for WorldOptions. All modes agree where no operation
// rounds.
//
//   canonical     as rank_order for collectives
//   rank_order    ((x0 op x1) op x2) ... in group order, what PyTorch's LocalTensor does
//   exact         floating sums, averages and scaled sums are the correctly rounded sums of their
//                 terms, which no order or grouping can change; the rest is as rank_order
//   as_nccl_ring  NCCL's ring: chunk c of the elements starts at member c+1 and ends at member c
//   as_nccl_tree  NCCL's double binary tree over hosts, a chain within a host
//   as_gloo_ring  gloo's ring: chunk c starts at member c-1 and goes down to member c
//
// avg divides once, after the sum (exact rounds after the division only); the NCCL orders multiply
// each operand by the rounded 1/n first instead.
class Arithmetic {
 public:
  struct NcclRing {
    std::int64_t channels = 1;
    std::int64_t chunk_bytes = std::int64_t(2) << 20;
  };
  struct NcclTree {
    std::int64_t ranks_per_host = 8;
    std::int64_t channels = 1;
  };

  static Arithmetic canonical();
  static Arithmetic rank_order();
  static Arithmetic exact();
  static Arithmetic as_nccl_ring() { return as_nccl_ring(NcclRing()); }
  static Arithmetic as_nccl_ring(NcclRing options);
  static Arithmetic as_nccl_tree() { return as_nccl_tree(NcclTree()); }
  static Arithmetic as_nccl_tree(NcclTree options);
  static Arithmetic as_gloo_ring();

  // parse takes the names above. Throws a ValueError that lists them.
  static Arithmetic parse(std::string_view name);

  const std::string& name() const { return name_; }

  bool adds_by_owner() const { return order_->adds_by_owner(); }

  // is_exact says whether sums don't depend on order: then unfinished sums go on unrounded.
  bool is_exact() const { return is_exact_; }

  // product and sum are those of product.h and sums.h: exact where is_exact, else canonical.
  void product(const Product& product) const;
  void sum(const SumRequest& request) const;

  // reduce writes the reduction's result. Throws a TypeError where the operation isn't defined for
  // the dtype.
  void reduce(const Reduction& reduction) const;

 private:
  Arithmetic(std::string name, std::shared_ptr<const ReductionOrder> order, bool is_exact = false)
      : name_(std::move(name)), is_exact_(is_exact), order_(std::move(order)) {}

  std::string name_;
  bool is_exact_;
  std::shared_ptr<const ReductionOrder> order_;
};

}  // namespace simmesh
