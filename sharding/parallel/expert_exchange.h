#pragma once

#include <memory>
#include <vector>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"
#include "sharding/parallel/row_exchange.h"

namespace simmesh {

// ExpertExchange moves rows of tokens from the ranks that have the tokens to those that have the
// experts, and back. Lists by expert have one tensor [rows, width] for each expert; ranks own
// neighbouring experts, cut by the rule of torch.chunk. All members of the group take part in each
// call, and the gradient of each direction is the other direction.
class ExpertExchange {
 public:
  virtual ~ExpertExchange() = default;
  // to_owners turns this rank's rows for all experts into all rows for this rank's experts, in the
  // order of one device: by choice, then by token.
  virtual std::vector<Tensor> to_owners(const std::vector<Tensor>& rows) const = 0;
  // to_tokens returns the results of this rank's experts to the ranks of their tokens.
  virtual std::vector<Tensor> to_tokens(const std::vector<Tensor>& rows) const = 0;
};

// ExpertRows are the numbers of rows of this rank that go to each expert, by the number of the
// choice, and the shape and dtype of the rows.
struct ExpertRows {
  std::vector<std::vector<std::int64_t>> counts;
  std::int64_t width;
  DType dtype;
};

// TokenExchange is for tokens that are cut over the ranks. Its constructor exchanges the counts,
// and each direction exchanges the rows: one all-to-all each, along the route, with uneven splits
// that may be zero.
class TokenExchange final : public ExpertExchange {
 public:
  TokenExchange(const ExpertRows& rows, const ProcessGroup& group, const RowRoute& route = {});

  std::vector<Tensor> to_owners(const std::vector<Tensor>& rows) const override;
  std::vector<Tensor> to_tokens(const std::vector<Tensor>& rows) const override;
  // owner_counts returns how many rows come to each expert of this rank.
  const std::vector<std::int64_t>& owner_counts() const { return owner_counts_; }
  // messages counts those of counts and rows.
  const RowMessages& messages() const { return exchange_->messages(); }

 private:
  void take_counts(std::vector<std::int64_t> received);
  // Returns the received rows in the order of one device.
  std::vector<std::int64_t> order() const;

  ProcessGroup group_;
  std::shared_ptr<RowExchange> exchange_;
  std::int64_t width_;
  DType dtype_;
  std::vector<std::int64_t> own_counts_;    // rows by expert that leave
  std::vector<std::int64_t> owner_counts_;  // rows by expert of this rank that arrive
  std::vector<std::int64_t> sent_, came_;   // rows by rank
  std::int64_t choices_;
  std::vector<std::int64_t> starts_;  // of the parts that arrive: by rank, expert and choice
};

// TokenReplicas is for tokens that all ranks have: rows are taken from them, and results are
// gathered, not summed, so that each rank has all: one all_gather of uneven pieces, forward and
// backward. Raises a ValueError where the ranks' rows differ in number.
class TokenReplicas final : public ExpertExchange {
 public:
  TokenReplicas(const ExpertRows& rows, const ProcessGroup& group);

  std::vector<Tensor> to_owners(const std::vector<Tensor>& rows) const override;
  std::vector<Tensor> to_tokens(const std::vector<Tensor>& rows) const override;

 private:
  ProcessGroup group_;
  std::int64_t width_;
  DType dtype_;
  std::vector<std::int64_t> counts_;  // rows by expert
};

// ColumnExchange is for experts whose columns are spread over a second group, with tokens that are
// cut over both: rows go to the rank that has the expert, and there the ranks of the columns gather
// theirs, in the order of the ranks, since each needs all rows. Of the results each takes its own
// rows back. Its constructor gathers the counts, and to_owners the rows: one all_gather each.
class ColumnExchange final : public ExpertExchange {
 public:
  ColumnExchange(const ExpertRows& rows, TokenExchange tokens, const ProcessGroup& columns);

  std::vector<Tensor> to_owners(const std::vector<Tensor>& rows) const override;
  std::vector<Tensor> to_tokens(const std::vector<Tensor>& rows) const override;

 private:
  TokenExchange tokens_;
  ProcessGroup columns_;
  std::int64_t width_;
  DType dtype_;
  std::vector<std::int64_t> counts_;  // rows by rank of the columns and expert
};

}  // namespace simmesh
