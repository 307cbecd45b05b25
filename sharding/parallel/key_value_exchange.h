#pragma once

#include <functional>
#include <vector>

#include "sharding/parallel/sequence_split.h"

namespace simmesh {

// KeyValue are keys [B, K, T, E] and values [B, K, T, F] of some positions, or their gradients.
struct KeyValue {
  Tensor k;
  Tensor v;
};

// KeyValueExchange moves keys and values between the ranks that hold a split sequence, and returns
// their gradients to the owners. All members of the group take part in each call.
class KeyValueExchange {
 public:
  // Arrived is called with a rank whose keys and values have arrived; meanwhile the next ones are
  // under way.
  using Arrived = std::function<void(std::int64_t rank, const KeyValue& block)>;

  virtual ~KeyValueExchange() = default;
  // gather returns the blocks of all ranks.
  virtual std::vector<KeyValue> gather(const KeyValue& own, const Arrived& arrived) const = 0;
  // sum_at_owners adds, for each rank, the terms that all ranks have for it, and returns this
  // rank's sum. In exact arithmetic the unrounded terms are added, and the sum is rounded once.
  virtual KeyValue sum_at_owners(std::vector<KeyValue> terms) const = 0;
};

// RingExchange passes blocks from each rank to the next: n - 1 messages a rank in either direction,
// each of keys and values of one block (Liu et al. 2023).
class RingExchange final : public KeyValueExchange {
 public:
  RingExchange(const SequenceSplit& split, const ProcessGroup& group)
      : split_(split), group_(group) {}

  std::vector<KeyValue> gather(const KeyValue& own, const Arrived& arrived) const override;
  KeyValue sum_at_owners(std::vector<KeyValue> terms) const override;

 private:
  std::int64_t neighbour(std::int64_t steps) const {
    return (group_.rank() + steps + group_.size()) % group_.size();
  }

  SequenceSplit split_;
  ProcessGroup group_;
};

// GatherExchange gathers all blocks by one all_gather, and sums them by one reduce_scatter, for
// which blocks are padded to the largest (Llama 3).
class GatherExchange final : public KeyValueExchange {
 public:
  GatherExchange(const SequenceSplit& split, const ProcessGroup& group)
      : split_(split), group_(group) {}

  std::vector<KeyValue> gather(const KeyValue& own, const Arrived& arrived) const override;
  KeyValue sum_at_owners(std::vector<KeyValue> terms) const override;

 private:
  SequenceSplit split_;
  ProcessGroup group_;
};

}  // namespace simmesh
