#include "sharding/parallel/row_attention.h"

#include <limits>

#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"
#include "core/ops/indexing/rearranging.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/factories.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/known_tensor.h"

namespace simmesh {

namespace {

constexpr double masked_out = -std::numeric_limits<double>::infinity();

bool is_finite(const Tensor& x) {
  if (x.numel() == 0) return true;
  Tensor result = known_tensor(all(isfinite(x)), "is_finite");
  return !result.has_elements() || result.values<bool>()[0];
}

Tensor first_columns(const Tensor& x, std::int64_t count) { return narrow(x, {-1, 0, count}); }
Tensor first_keys(const Tensor& x, std::int64_t count) { return narrow(x, {2, 0, count}); }

// Returns the keys or values of all ranks, in order of positions.
Tensor whole(gsl::span<const KeyValue> blocks, Tensor KeyValue::*part, const SequenceSplit& split) {
  std::vector<Tensor> parts;
  for (const KeyValue& block : blocks) parts.push_back(block.*part);
  return in_sequence_order(parts, 2, split);
}

Tensor sum_of_two(const Tensor& a, const Tensor& b) { return a.is_defined() ? add(a, b) : b; }

}  // namespace

RowAttention::RowAttention(const Options& options, const Tensor& q) : options_(options), q_(q) {
  const SequenceSplit& split = options_.split;
  for (std::int64_t piece : split.pieces_of(options_.rank))
    rows_.push_back({split.piece(piece), split.start_within(piece),
                     std::vector<Tensor>(static_cast<std::size_t>(split.piece_count()))});
}

bool RowAttention::hides(const Rows& rows, std::int64_t piece) const {
  std::int64_t end = rows.positions.start + rows.positions.length;
  return options_.is_causal && options_.split.piece(piece).start >= end;
}

Tensor RowAttention::of_rows(const Tensor& x, const Rows& rows) const {
  return narrow(x, {2, rows.start, rows.positions.length});
}

Tensor RowAttention::with_heads(const Tensor& x) const {
  return x.size(1) == q_.size(1) ? x : repeat_interleave(x, q_.size(1) / x.size(1), 1);
}

// Returns which keys come later than a row's position: [rows, T].
Tensor RowAttention::hidden(const Rows& rows) const {
  Tensor keys = arange(options_.split.length);
  Tensor own = narrow(keys, {0, rows.positions.start, rows.positions.length});
  return gt(keys, unsqueeze(own, 1));
}

// Returns how many keys can affect the rows. A hidden key has weight zero, which leaves a sum
// unchanged unless the other factor isn't finite.
std::int64_t RowAttention::depth_of(const Rows& rows, const Tensor& across) const {
  std::int64_t length = options_.split.length;
  std::int64_t end = rows.positions.start + rows.positions.length;
  if (!options_.is_causal || end == length) return length;
  return is_finite(narrow(across, {2, end, length - end})) ? end : length;
}

void RowAttention::add_keys(std::int64_t rank, const Tensor& k) {
  const SequenceSplit& split = options_.split;
  for (std::int64_t piece : split.pieces_of(rank)) {
    Tensor keys = narrow(k, {2, split.start_within(piece), split.piece(piece).length});
    for (Rows& rows : rows_) {
      if (hides(rows, piece)) continue;
      Tensor product = matmul(of_rows(q_, rows), transpose(with_heads(keys), -2, -1));
      rows.scores[std::size_t(piece)] = product * options_.scale;
    }
  }
}

// The softmax runs over all positions, hidden ones too: in arithmetics other than exact sums depend
// on the number of their terms.
Tensor RowAttention::weights_of(const Rows& rows) const {
  std::vector<Tensor> scores;
  for (std::int64_t piece = 0; piece < options_.split.piece_count(); ++piece) {
    std::int64_t length = options_.split.piece(piece).length;
    const Tensor& computed = rows.scores[std::size_t(piece)];
    Shape shape = {q_.size(0), q_.size(1), rows.positions.length, length};
    if (computed.is_defined())
      scores.push_back(computed);
    else if (length > 0)
      scores.push_back(full(shape, q_.dtype(), 0));
  }
  Tensor row = cat(scores, -1);
  return softmax(options_.is_causal ? masked_fill(row, hidden(rows), masked_out) : row, -1);
}

Tensor RowAttention::output(gsl::span<const KeyValue> blocks) const {
  Tensor values = with_heads(whole(blocks, &KeyValue::v, options_.split));
  std::vector<Tensor> result;
  for (const Rows& rows : rows_) {
    std::int64_t depth = depth_of(rows, values);
    result.push_back(matmul(first_columns(weights_of(rows), depth), first_keys(values, depth)));
  }
  return result.empty() ? zeros({q_.size(0), q_.size(1), 0, values.size(3)}, q_.dtype())
                        : cat(result, 2);
}

RowAttention::RowGradients RowAttention::row_gradients(const Rows& rows, const Tensor& gradient,
                                                       const Tensor& values) const {
  Tensor weights = weights_of(rows);
  std::int64_t length = options_.split.length, depth = depth_of(rows, values);
  Tensor products = matmul(of_rows(gradient, rows), transpose(first_keys(values, depth), -2, -1));
  Tensor weighted = products * first_columns(weights, depth);
  if (depth < length) weighted = pad(weighted, {0, length - depth});
  Tensor scores = weighted - weights * sum(weighted, -1, true);
  if (options_.is_causal) scores = masked_fill(scores, hidden(rows), 0);
  return {weights, scores * options_.scale};
}

// Returns the gradients of the keys and values at one piece of positions, from all rows that see
// them.
KeyValue RowAttention::terms_of(std::int64_t piece, gsl::span<const RowGradients> parts,
                                const Tensor& gradient) const {
  Chunk at = options_.split.piece(piece);
  KeyValue terms;
  KeepUnrounded scope;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Tensor q = of_rows(q_, rows_[i]), g = of_rows(gradient, rows_[i]);
    bool skips = hides(rows_[i], piece);
    auto transposed_columns = [&](const Tensor& x) {
      return transpose(narrow(x, {-1, at.start, at.length}), -2, -1);
    };
    if (!skips || !is_finite(q))
      terms.k = sum_of_two(terms.k, matmul(transposed_columns(parts[i].scores), q));
    if (!skips || !is_finite(g))
      terms.v = sum_of_two(terms.v, matmul(transposed_columns(parts[i].weights), g));
  }
  auto zeros_of = [&](std::int64_t width) {
    return zeros({q_.size(0), q_.size(1), at.length, width}, q_.dtype());
  };
  if (!terms.k.is_defined()) terms.k = zeros_of(q_.size(3));
  if (!terms.v.is_defined()) terms.v = zeros_of(gradient.size(3));
  return terms;
}

RowAttention::Gradients RowAttention::gradients(gsl::span<const KeyValue> blocks,
                                                const Tensor& gradient) const {
  const SequenceSplit& split = options_.split;
  Tensor keys = with_heads(whole(blocks, &KeyValue::k, split));
  Tensor values = with_heads(whole(blocks, &KeyValue::v, split));
  std::vector<Tensor> queries;
  std::vector<RowGradients> parts;
  for (const Rows& rows : rows_) {
    parts.push_back(row_gradients(rows, gradient, values));
    std::int64_t depth = depth_of(rows, keys);
    queries.push_back(matmul(first_columns(parts.back().scores, depth), first_keys(keys, depth)));
  }
  Gradients result{queries.empty() ? zeros_like(q_) : cat(queries, 2), {}};
  for (std::int64_t rank = 0; rank < split.ranks; ++rank) {
    std::vector<Tensor> k, v;
    KeepUnrounded scope;
    for (std::int64_t piece : split.pieces_of(rank)) {
      KeyValue terms = terms_of(piece, parts, gradient);
      k.push_back(terms.k);
      v.push_back(terms.v);
    }
    Shape none = {q_.size(0), q_.size(1), 0, 0};
    auto joined = [&](const std::vector<Tensor>& pieces, std::int64_t width) {
      none[3] = width;
      return pieces.empty() ? zeros(none, q_.dtype()) : cat(pieces, 2);
    };
    result.terms.push_back({joined(k, q_.size(3)), joined(v, gradient.size(3))});
  }
  return result;
}

}  // namespace simmesh
