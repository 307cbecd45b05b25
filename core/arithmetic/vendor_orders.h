#pragma once

#include <vector>

#include "core/arithmetic/arithmetic.h"

namespace simmesh {

// The orders in which NCCL and gloo add, from their sources; docs/arithmetic.md states each with
// its data partition.

// NcclRingOrder is as_nccl_ring.
class NcclRingOrder final : public ReductionOrder {
 public:
  // Throws a ValueError for options below 1.
  explicit NcclRingOrder(Arithmetic::NcclRing options);
  void reduce(const Reduction& reduction) const override;
  bool adds_by_owner() const override { return true; }

 private:
  Arithmetic::NcclRing options_;
};

// NcclTreeOrder is as_nccl_tree.
class NcclTreeOrder final : public ReductionOrder {
 public:
  // Throws a ValueError for options below 1.
  explicit NcclTreeOrder(Arithmetic::NcclTree options);
  void reduce(const Reduction& reduction) const override;

  // Node is one member of a tree: its children in the order in which their values are added.
  struct Node {
    std::vector<std::size_t> children;
  };
  // tree returns the first or second tree over the members, whose root is returned with it.
  struct Tree {
    std::size_t root = 0;
    std::vector<Node> nodes;
  };
  Tree tree(std::size_t members, bool second) const;

 private:
  Arithmetic::NcclTree options_;
};

// GlooRingOrder is as_gloo_ring.
class GlooRingOrder final : public ReductionOrder {
 public:
  void reduce(const Reduction& reduction) const override;
};

}  // namespace simmesh
