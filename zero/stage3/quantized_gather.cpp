#include "zero/stage3/quantized_gather.h"

#include <algorithm>

#include "collectives/collective_call.h"
#include "core/engine/ranks/call_contents.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/flat.h"
#include "zero/fetch/collective_record.h"
#include "zero/stage3/quantize.h"

namespace simmesh::zero {

namespace {

// Fills up with zeros to a multiple of 8 elements.
Tensor filled_up(const Tensor& shard) {
  std::int64_t numel = shard.numel();
  if (numel % 8 == 0) return shard;
  Tensor padded = zeros({(numel + 7) / 8 * 8}, shard.dtype());
  Tensor own = padded.narrow({0, 0, numel});
  copy_(own, shard);
  return padded;
}

Work start_gather(const Tensor& input, const Tensor& output, const ProcessGroup& group,
                  const ProcessGroup& all) {
  record_collective("all_gather_into_tensor", input, group, all);
  return start_collective(
      group, {.op = CollectiveOp::all_gather, .inputs = {&input, 1}, .site = CallSite::here()},
      {.into = output});
}

}  // namespace

QuantizedGather::QuantizedGather(std::vector<PartitionedParam*> members,
                                 const PartitionGroups& groups, bool from_secondary)
    : members_(std::move(members)),
      group_(from_secondary ? *groups.secondary : groups.all),
      from_secondary_(from_secondary) {
  if (group_.size() > 1) start(groups.all);
}

void QuantizedGather::start(const ProcessGroup& all) {
  NoGrad mode;
  Ledger::Category category(MemoryCategory::communication);
  CallContents contents(names_of(members_));
  Tensor code_input, scale_input;
  {
    // On a device the inputs are this rank's slots of the outputs.
    Ledger::Uncharged in_outputs;
    std::vector<Tensor> codes, scales;
    for (PartitionedParam* member : members_) {
      if (!from_secondary_) member->fetch_shard();
      const Tensor& input = from_secondary_ ? member->secondary() : member->shard();
      Place& place = places_.emplace_back(Place{input.numel(), slot_codes_, 0, slot_scales_, 0});
      if (place.numel == 0) continue;
      Quantized values = quantized_weights(filled_up(input));
      place.codes = values.codes.numel();
      place.scales = values.scales.numel();
      slot_codes_ += place.codes;
      slot_scales_ += place.scales;
      codes.push_back(values.codes);
      scales.push_back(values.scales);
    }
    code_input = flattened(codes, DType::uint8);
    scale_input = flattened(scales, DType::float32);
  }
  codes_ = empty_meta(Dims{slot_codes_ * group_.size()}, DType::uint8, true);
  scales_ = empty_meta(Dims{slot_scales_ * group_.size()}, DType::float32, true);
  code_work_ = start_gather(code_input, codes_, group_, all);
  scale_work_ = start_gather(scale_input, scales_, group_, all);
}

void QuantizedGather::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  NoGrad mode;
  if (group_.size() == 1) {
    for (PartitionedParam* member : members_) {
      member->fetch_shard();
      member->take(member->shard(), 0);
    }
    return;
  }
  Ledger::Category category(MemoryCategory::communication);
  code_work_.wait();
  scale_work_.wait();
  for (std::size_t i = 0; i < members_.size(); ++i)
    members_[i]->take(whole_of(i, codes_, scales_), 0);
  codes_ = scales_ = Tensor();
  code_work_ = scale_work_ = Work();
}

Tensor QuantizedGather::whole_of(std::size_t member, const Tensor& codes,
                                 const Tensor& scales) const {
  const Place& place = places_[member];
  Tensor whole = empty({members_[member]->numel()}, members_[member]->dtype());
  for (std::int64_t rank = 0; rank * place.numel < whole.numel(); ++rank) {
    Quantized part{codes.narrow({0, rank * slot_codes_ + place.first_code, place.codes}),
                   scales.narrow({0, rank * slot_scales_ + place.first_scale, place.scales})};
    std::int64_t start = rank * place.numel;
    std::int64_t count = std::min(place.numel, whole.numel() - start);
    Tensor target = whole.narrow({0, start, count});
    copy_(target, dequantized(part, whole.dtype()).narrow({0, 0, count}));
  }
  return whole;
}

}  // namespace simmesh::zero
