#include "sharding/parallel/expert_exchange.h"

#include <numeric>

#include "collectives/collectives.h"
#include "core/check/error.h"
#include "core/nn/moe_routing.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/chunk.h"
#include "core/tensor/known_tensor.h"
#include "core/tensor/vector_of.h"

namespace simmesh {

namespace {

using Counts = std::vector<std::int64_t>;

Chunk experts_of(std::int64_t rank, std::int64_t experts, const ProcessGroup& group) {
  return chunk_of({.size = experts, .parts = group.size(), .index = rank});
}

Counts totals(const ExpertRows& rows) {
  Counts result;
  for (const Counts& of_expert : rows.counts)
    result.push_back(std::accumulate(of_expert.begin(), of_expert.end(), std::int64_t{0}));
  return result;
}

// Returns one tensor of all rows, also if there are none.
Tensor joined(const std::vector<Tensor>& rows, std::int64_t width, DType dtype) {
  return rows.empty() ? empty({0, width}, dtype) : cat(rows);
}

std::vector<Tensor> cut(const Tensor& rows, const Counts& counts) {
  return counts.empty() ? std::vector<Tensor>()
                        : split(rows, DimSpan(counts.data(), counts.size()));
}

// Returns the rows that an exchange of counts brought, of `parts` parts from each rank. Without
// values they are known only where each expert gets equally many rows of this rank: so they do of
// the other ranks, which have as many tokens.
Counts received_counts(const Tensor& brought, const Counts& totals, std::int64_t choices) {
  Tensor came = known_tensor(brought, "rows of experts");
  if (came.has_elements()) {
    auto values = came.values<std::int64_t>();
    return {values.begin(), values.end()};
  }
  for (std::int64_t rows : totals)
    if (rows != totals.front())
      raise(ErrorKind::runtime_error, "sharding/expert_exchange",
            "expected equally many rows for each expert in a world of shapes only, where ranks "
            "can't tell each other how many, got {} for one expert and {} for another",
            totals.front(), rows);
  Counts counts(std::size_t(came.numel()), 0);
  for (std::size_t i = 0; i < counts.size(); i += std::size_t(choices)) counts[i] = totals.front();
  return counts;
}

Dims dims_of(const Counts& counts) { return Dims(counts.begin(), counts.end()); }

}  // namespace

TokenExchange::TokenExchange(const ExpertRows& rows, const ProcessGroup& group,
                             const RowRoute& route)
    : group_(group),
      exchange_(std::make_shared<RowExchange>(group, route)),
      width_(rows.width),
      dtype_(rows.dtype),
      own_counts_(totals(rows)),
      choices_(std::int64_t(rows.counts[0].size())) {
  auto experts = std::int64_t(rows.counts.size());
  Chunk own = experts_of(group.rank(), experts, group);
  Counts flat;
  Splits splits;
  for (const Counts& of_expert : rows.counts)
    flat.insert(flat.end(), of_expert.begin(), of_expert.end());
  for (std::int64_t rank = 0; rank < group.size(); ++rank) {
    Chunk theirs = experts_of(rank, experts, group);
    splits.input.push_back(theirs.length * choices_);
    splits.output.push_back(own.length * choices_);
    sent_.push_back(std::accumulate(own_counts_.begin() + theirs.start,
                                    own_counts_.begin() + theirs.start + theirs.length,
                                    std::int64_t{0}));
  }
  Tensor came =
      (*exchange_)(vector_of<std::int64_t>(flat), splits.input, splits.output).contiguous();
  owner_counts_.assign(std::size_t(own.length), 0);
  take_counts(received_counts(came, own_counts_, choices_));
}

// Received rows are in order of ranks, then of experts and choices; `received` has the counts of
// these parts, in that order. Damaged ones are refused here or by the exchange of the rows, so
// nothing may be as large as they say before that.
void TokenExchange::take_counts(Counts received) {
  std::size_t experts = owner_counts_.size(), parts = experts * std::size_t(choices_);
  for (std::int64_t count : received)
    if (count < 0)
      raise(ErrorKind::value_error, "sharding/expert_exchange", "expected a number of rows, got {}",
            count);
  starts_.assign(received.size() + 1, 0);
  std::partial_sum(received.begin(), received.end(), starts_.begin() + 1);
  for (std::int64_t rank = 0; rank < group_.size(); ++rank)
    came_.push_back(starts_[std::size_t(rank + 1) * parts] - starts_[std::size_t(rank) * parts]);
  for (std::size_t part = 0; part < received.size(); ++part)
    owner_counts_[part % parts / std::size_t(choices_)] += received[part];
}

Counts TokenExchange::order() const {
  std::size_t experts = owner_counts_.size(), parts = experts * std::size_t(choices_);
  Counts rows;
  for (std::size_t of_rank = 0; of_rank < parts; ++of_rank)
    for (std::size_t rank = 0; rank < std::size_t(group_.size()); ++rank) {
      std::size_t part = rank * parts + of_rank;
      for (std::int64_t row = starts_[part]; row < starts_[part + 1]; ++row) rows.push_back(row);
    }
  return rows;
}

std::vector<Tensor> TokenExchange::to_owners(const std::vector<Tensor>& rows) const {
  Tensor sent = joined(rows, width_, dtype_);
  Tensor came = (*exchange_)(sent, dims_of(sent_), dims_of(came_));
  return cut(index_select(came, 0, vector_of<std::int64_t>(order())), owner_counts_);
}

std::vector<Tensor> TokenExchange::to_tokens(const std::vector<Tensor>& rows) const {
  Counts rows_in_order = order(), places(rows_in_order.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    places[std::size_t(rows_in_order[i])] = std::int64_t(i);
  Tensor results = joined(rows, width_, dtype_);
  Tensor back = index_select(results, 0, vector_of<std::int64_t>(places));
  return cut((*exchange_)(back, dims_of(came_), dims_of(sent_)), own_counts_);
}

TokenReplicas::TokenReplicas(const ExpertRows& rows, const ProcessGroup& group)
    : group_(group), width_(rows.width), dtype_(rows.dtype), counts_(totals(rows)) {}

std::vector<Tensor> TokenReplicas::to_owners(const std::vector<Tensor>& rows) const {
  Chunk own = experts_of(group_.rank(), std::int64_t(counts_.size()), group_);
  return {rows.begin() + own.start, rows.begin() + own.start + own.length};
}

std::vector<Tensor> TokenReplicas::to_tokens(const std::vector<Tensor>& rows) const {
  Tensor own = joined(rows, width_, dtype_);
  Tensor all = all_gather(own, {.dim = 0, .uneven = true}, group_);
  std::int64_t expected = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  if (all.size(0) != expected)
    raise(
        ErrorKind::value_error, "sharding/expert_parallel",
        "rank {} of the group: expected {} rows of experts, as its own tokens have, and the ranks "
        "computed {}: replicated tokens are the same on all ranks",
        group_.rank(), expected, all.size(0));
  return cut(all, counts_);
}

ColumnExchange::ColumnExchange(const ExpertRows& rows, TokenExchange tokens,
                               const ProcessGroup& columns)
    : tokens_(std::move(tokens)), columns_(columns), width_(rows.width), dtype_(rows.dtype) {
  Tensor all = known_tensor(
      all_gather(vector_of<std::int64_t>(tokens_.owner_counts()), {.dim = 0}, columns_),
      "rows of columns");
  for (std::int64_t rank = 0; !all.has_elements() && rank < columns_.size(); ++rank)
    counts_.insert(counts_.end(), tokens_.owner_counts().begin(), tokens_.owner_counts().end());
  if (!all.has_elements()) return;
  auto values = all.values<std::int64_t>();
  counts_.assign(values.begin(), values.end());
}

std::vector<Tensor> ColumnExchange::to_owners(const std::vector<Tensor>& rows) const {
  Tensor own = joined(tokens_.to_owners(rows), width_, dtype_);
  std::vector<Tensor> pieces = cut(all_gather(own, {.dim = 0, .uneven = true}, columns_), counts_);
  std::size_t experts = tokens_.owner_counts().size();
  std::vector<Tensor> result;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    std::vector<Tensor> of_ranks;
    for (std::size_t i = expert; i < pieces.size(); i += experts) of_ranks.push_back(pieces[i]);
    result.push_back(joined(of_ranks, width_, dtype_));
  }
  return result;
}

std::vector<Tensor> ColumnExchange::to_tokens(const std::vector<Tensor>& rows) const {
  std::size_t experts = tokens_.owner_counts().size();
  std::vector<Tensor> own;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    std::int64_t start = 0;
    for (std::size_t rank = 0; rank < std::size_t(columns_.rank()); ++rank)
      start += counts_[rank * experts + expert];
    own.push_back(rows[expert].narrow({0, start, tokens_.owner_counts()[expert]}));
  }
  return tokens_.to_tokens(own);
}

}  // namespace simmesh
