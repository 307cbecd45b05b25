#pragma once

#include <unordered_map>
#include <vector>

#include "core/ops/op.h"

namespace simmesh {

// KnownResults computes each local call of one op once: pieces of equal bits become one tensor, and
// ranks that hold the same tensors share their results. That is a proof and not a guess, since an
// op is a function of its tensors and arguments. Which rank holds them must not matter.
//
//   KnownResults known;
//   Tensor a = known.shared(x.clone()), b = known.shared(x.clone());
//   a.storage() == b.storage();           // true
//   known.call(op, std::vector{a}, {});   // runs the op
//   known.call(op, std::vector{b}, {});   // looks the outputs up
class KnownResults {
 public:
  // shared returns the first contiguous tensor of these bits, shape and dtype that it was given.
  Tensor shared(Tensor piece);

  // call returns the outputs of the op; raises its errors. The tensors of a call are known by their
  // memory, so its inputs should be shared ones. Calls that keep unrounded sums are apart from
  // those that don't.
  const std::vector<Tensor>& call(const Op& op, gsl::span<const Tensor> inputs,
                                  const Attributes& attributes);

  // computed_count is the number of calls that ran the op.
  std::uint64_t computed_count() const { return computed_count_; }

 private:
  struct Result {
    std::vector<Tensor> inputs;
    Attributes attributes;
    bool keeps_unrounded;
    std::vector<Tensor> outputs;
  };
  std::unordered_multimap<std::uint64_t, Tensor> tensors_;  // by the hash of their bits
  std::unordered_multimap<std::uint64_t, Result> results_;  // by the hash of their inputs' memory
  std::uint64_t computed_count_ = 0;
};

}  // namespace simmesh
