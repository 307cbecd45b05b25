#pragma once

#include "sharding/parallel/sequence_split.h"

namespace simmesh {

// HeadExchange moves tensors between two shardings: each rank has all heads of its part of the
// sequence, or the whole sequence of its part of the heads (DeepSpeed-Ulysses, Jacobs et al. 2023).
// Heads are cut in units of some neighbours that stay together, by the rule of torch.chunk; a rank
// may have none. Each direction is one all-to-all, and its gradient is the other direction.
class HeadExchange {
 public:
  struct Options {
    SequenceSplit split;
    std::int64_t units;
  };

  HeadExchange(const Options& options, const ProcessGroup& group)
      : options_(options), group_(group) {}

  // to_heads takes [B, H, T of the rank, E] to [B, H of the rank, T, E]; the units divide H.
  Tensor to_heads(const Tensor& x) const;
  // to_sequence is the inverse.
  Tensor to_sequence(const Tensor& x) const;

 private:
  Tensor heads_exchanged(const Tensor& x) const;
  Tensor sequence_exchanged(const Tensor& x) const;

  Options options_;
  ProcessGroup group_;
};

}  // namespace simmesh
