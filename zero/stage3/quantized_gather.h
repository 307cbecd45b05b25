#pragma once

#include <cstdint>
#include <vector>

#include "collectives/work.h"
#include "zero/stage3/param_gather.h"

namespace simmesh::zero {

// QuantizedGather gathers parameters in 8 bits (zero/stage3/quantize.h): one all-gather of the
// codes of all of them and one of their scales. Each shard is quantised by itself, filled up with
// zeros to a multiple of 8 elements, so that a module's parameters don't depend on which are
// gathered together. In a group of one rank the shards are the parameters, unquantised.
class QuantizedGather final : public PendingGather {
 public:
  // Starts the gathers, from shards or, in the small group, from secondary ones.
  QuantizedGather(std::vector<PartitionedParam*> members, const PartitionGroups& groups,
                  bool from_secondary);

  void finish() override;

 private:
  // The places of a member's codes and scales in a rank's slot.
  struct Place {
    std::int64_t numel, first_code, codes, first_scale, scales;
  };

  void start(const ProcessGroup& all);
  Tensor whole_of(std::size_t member, const Tensor& codes, const Tensor& scales) const;

  std::vector<PartitionedParam*> members_;
  ProcessGroup group_;
  bool from_secondary_;
  std::vector<Place> places_;
  std::int64_t slot_codes_ = 0, slot_scales_ = 0;
  Tensor codes_, scales_;
  Work code_work_, scale_work_;
  bool is_finished_ = false;
};

}  // namespace simmesh::zero
