#pragma once

#include <cstdint>
#include <string_view>

namespace simmesh {

// Arithmetic is the way in which a World adds: a value for WorldOptions. The engine only carries
// it; core/arithmetic/compute.h computes by it. All modes agree where no operation rounds.
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
  // Mode names the order.
  enum class Mode : std::uint8_t {
    canonical,
    rank_order,
    exact,
    as_nccl_ring,
    as_nccl_tree,
    as_gloo_ring,
  };
  // NcclRing is the way in which NCCL's ring cuts its operands: chunks of that many bytes, over
  // that many channels.
  struct NcclRing {
    std::int64_t channels = 1;
    std::int64_t chunk_bytes = std::int64_t(2) << 20;
    bool operator==(const NcclRing&) const = default;
  };
  // NcclTree has the hosts of the ranks of NCCL's trees: that many ranks on each, in rank order.
  struct NcclTree {
    std::int64_t ranks_per_host = 8;
    std::int64_t channels = 1;
    bool operator==(const NcclTree&) const = default;
  };

  static Arithmetic canonical() { return Arithmetic(Mode::canonical); }
  static Arithmetic rank_order() { return Arithmetic(Mode::rank_order); }
  static Arithmetic exact() { return Arithmetic(Mode::exact); }
  // as_nccl_ring and as_nccl_tree raise a ValueError for options below 1.
  static Arithmetic as_nccl_ring() { return as_nccl_ring(NcclRing()); }
  static Arithmetic as_nccl_ring(const NcclRing& options);
  static Arithmetic as_nccl_tree() { return as_nccl_tree(NcclTree()); }
  static Arithmetic as_nccl_tree(const NcclTree& options);
  static Arithmetic as_gloo_ring() { return Arithmetic(Mode::as_gloo_ring); }

  // parse takes the names above. Raises a ValueError that lists them.
  static Arithmetic parse(std::string_view name);

  Mode mode() const { return mode_; }
  // name returns the mode's name, as parse reads it.
  std::string_view name() const;

  // is_exact is true if sums don't depend on order. Then incomplete sums stay unrounded.
  bool is_exact() const { return mode_ == Mode::exact; }

  // nccl_ring and nccl_tree return the options of the modes of these names.
  const NcclRing& nccl_ring() const { return nccl_ring_; }
  const NcclTree& nccl_tree() const { return nccl_tree_; }

  bool operator==(const Arithmetic&) const = default;

 private:
  explicit Arithmetic(Mode mode) : mode_(mode) {}

  Mode mode_;
  NcclRing nccl_ring_;
  NcclTree nccl_tree_;
};

}  // namespace simmesh
