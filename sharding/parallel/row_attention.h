#pragma once

#include <vector>

#include "sharding/parallel/key_value_exchange.h"

namespace simmesh {

// RowAttention is attention of the queries that one rank holds to the keys and values of a whole
// sequence, which come block by block. Rows have the bits that they have on one device
// (scaled_dot_product_attention and its gradients): the scores of a row are kept until all its keys
// have come, then go through one softmax, in order of positions. Under a causal mask a piece of
// queries isn't computed with keys that all come later, unless these aren't finite.
//
//   RowAttention rows({.split = {4, 1}, .rank = 0, .is_causal = true, .scale = 0.5}, x);
//   rows.add_keys(0, x);
//   Tensor attended = rows.output(std::vector<KeyValue>{{x, y}});
class RowAttention {
 public:
  struct Options {
    SequenceSplit split;
    std::int64_t rank;
    bool is_causal;
    double scale;
  };

  // q is [B, H, T of the rank, E]; keys and values have H heads, or fewer that divide H.
  RowAttention(const Options& options, const Tensor& q);

  // add_keys computes the scores with the keys of one rank.
  void add_keys(std::int64_t rank, const Tensor& k);
  // output returns [B, H, T of the rank, F], given all ranks' blocks, whose keys were added.
  Tensor output(gsl::span<const KeyValue> blocks) const;

  struct Gradients {
    Tensor q;
    // For each rank the terms of the gradients of its keys and values, with all H heads; unrounded
    // in exact arithmetic.
    std::vector<KeyValue> terms;
  };
  Gradients gradients(gsl::span<const KeyValue> blocks, const Tensor& gradient) const;

 private:
  // A piece of the rank's queries.
  struct Rows {
    Chunk positions;
    std::int64_t start;          // where they begin in this rank's part
    std::vector<Tensor> scores;  // with each piece of keys; undefined where all are hidden
  };
  // The parts from which the gradients of one piece of queries are made, over all keys.
  struct RowGradients {
    Tensor weights, scores;
  };

  bool hides(const Rows& rows, std::int64_t piece) const;
  Tensor of_rows(const Tensor& x, const Rows& rows) const;
  Tensor hidden(const Rows& rows) const;
  Tensor weights_of(const Rows& rows) const;
  Tensor with_heads(const Tensor& x) const;
  std::int64_t depth_of(const Rows& rows, const Tensor& across) const;
  RowGradients row_gradients(const Rows& rows, const Tensor& gradient, const Tensor& values) const;
  KeyValue terms_of(std::int64_t piece, gsl::span<const RowGradients> of_rows,
                    const Tensor& gradient) const;

  Options options_;
  Tensor q_;
  std::vector<Rows> rows_;
};

}  // namespace simmesh
