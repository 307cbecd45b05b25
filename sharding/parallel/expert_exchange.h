#pragma once

#include <optional>
#include <vector>

#include "collectives/process_group.h"
#include "core/tensor/tensor.h"
#include "sharding/parallel/hierarchical_exchange.h"

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
// and each direction exchanges the rows: one all_to_all_single each, with uneven splits that may be
// zero. On nodes each exchange of rows is a HierarchicalExchange.
class TokenExchange final : public ExpertExchange {
 public:
  // ranks_per_node is 0 for ranks without nodes.
  TokenExchange(const ExpertRows& rows, const ProcessGroup& group, std::int64_t ranks_per_node = 0);

  std::vector<Tensor> to_owners(const std::vector<Tensor>& rows) const override;
  std::vector<Tensor> to_tokens(const std::vector<Tensor>& rows) const override;

 private:
  void order_rows(const std::vector<std::int64_t>& received, std::int64_t choices);
  Tensor exchanged(const Tensor& rows, const std::vector<std::int64_t>& sent,
                   const std::vector<std::int64_t>& came) const;

  ProcessGroup group_;
  std::optional<HierarchicalExchange> nodes_;
  std::int64_t width_;
  DType dtype_;
  std::vector<std::int64_t> own_counts_;    // rows by expert that leave
  std::vector<std::int64_t> owner_counts_;  // rows by expert of this rank that arrive
  std::vector<std::int64_t> sent_, came_;   // rows by rank
  std::vector<std::int64_t> order_;         // of the received rows, in the order of one device
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

}  // namespace simmesh
