#pragma once

#include <vector>

#include "core/arithmetic/reductions/reduction.h"
#include "core/engine/options/arithmetic.h"

namespace simmesh {

// The orders in which NCCL and gloo add, from their sources; docs/arithmetic.md states each with
// its data partition. Their options are as Arithmetic has checked them.

// NcclRingOrder is as_nccl_ring.
class NcclRingOrder {
 public:
  explicit NcclRingOrder(const Arithmetic::NcclRing& options) : options_(options) {}
  void reduce(const Reduction& reduction) const;

 private:
  Arithmetic::NcclRing options_;
};

// NcclTreeOrder is as_nccl_tree.
class NcclTreeOrder {
 public:
  explicit NcclTreeOrder(const Arithmetic::NcclTree& options) : options_(options) {}
  void reduce(const Reduction& reduction) const;

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
class GlooRingOrder {
 public:
  void reduce(const Reduction& reduction) const;
};

}  // namespace simmesh
