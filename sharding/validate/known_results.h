#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/arithmetic/reductions/reduce_op.h"
#include "core/ops/op.h"

namespace simmesh {

// SharedOutputs are the outputs of one call of an op. Copies share them.
class SharedOutputs {
 public:
  SharedOutputs(std::vector<Tensor> outputs)
      : outputs_(std::make_shared<const std::vector<Tensor>>(std::move(outputs))) {}

  const Tensor& operator[](std::size_t output) const { return (*outputs_)[output]; }
  const Tensor* data() const { return outputs_->data(); }
  std::size_t size() const { return outputs_->size(); }
  auto begin() const { return outputs_->begin(); }
  auto end() const { return outputs_->end(); }

 private:
  std::shared_ptr<const std::vector<Tensor>> outputs_;
};

// KnownResults computes each local call of one op once, and each reduction of its results: pieces
// of equal bits become one tensor, and ranks that hold the same tensors share their results. That
// is a proof and not a guess, since an op is a function of its tensors and arguments. Which rank
// holds them must not matter.
//
//   KnownResults known;
//   Tensor a = known.shared(x.clone()), b = known.shared(x.clone());
//   is_one_view(a, b);              // true
//   known.call(op, {&a, 1}, {});    // runs the op
//   known.call(op, {&b, 1}, {});    // looks the outputs up
class KnownResults {
 public:
  // Operands are the tensors of a call; null for an absent one.
  using Operands = boost::container::small_vector<const Tensor*, 8>;

  // shared returns the first contiguous tensor of these bits, shape and dtype that it was given.
  Tensor shared(Tensor piece);

  // call returns the outputs of the op; raises its errors. The tensors of a call are known by their
  // memory, so its inputs should be shared ones. Calls that keep unrounded sums are apart from
  // those that don't.
  SharedOutputs call(const Op& op, const Operands& inputs, const Attributes& attributes);
  SharedOutputs call(const Op& op, gsl::span<const Tensor> inputs, const Attributes& attributes);

  // reduced returns what reduced_pieces does, for pieces of one shape and dtype. Reductions that
  // keep unrounded sums are apart from those that don't, too.
  const Tensor& reduced(gsl::span<const Tensor> pieces, ReduceOp op);

  // computed_count is the number of calls that ran the op, reduced_count that of reductions.
  std::uint64_t computed_count() const { return computed_count_; }
  std::uint64_t reduced_count() const { return reduced_count_; }

 private:
  using HeldTensors = boost::container::small_vector<Tensor, 2>;
  struct Result {
    HeldTensors inputs;
    Attributes attributes;
    bool keeps_unrounded;
    SharedOutputs outputs;
  };
  struct Reduction {
    HeldTensors pieces;
    ReduceOp op;
    bool keeps_unrounded;
    Tensor total;
  };
  std::unordered_multimap<std::uint64_t, Tensor> tensors_;  // by the hash of their bits
  // By the hash of their operands' memory.
  std::unordered_multimap<std::uint64_t, Result> results_;
  std::unordered_multimap<std::uint64_t, Reduction> reductions_;
  std::uint64_t computed_count_ = 0, reduced_count_ = 0;
};

// is_one_view is true for two views of the same elements, and for two tensors that aren't there.
bool is_one_view(const Tensor& a, const Tensor& b);

}  // namespace simmesh
