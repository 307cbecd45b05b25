#include <algorithm>

#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// Returns the layout in which only the first `count` dims stay cut.
Dims leading(const SpmdCall& call, const SpmdTensor& x, std::size_t count) {
  Dims single = call.single(x);
  for (std::size_t dim = count; dim < single.size(); ++dim) single[dim] = -1;
  return single;
}

DistAttr statistics_attr(const Dims& wanted, std::size_t count) {
  return attr_of(DimSpan(wanted).first(std::min(count, wanted.size())));
}

DistAttr whole_vector() { return DistAttr::replicated(1); }

// layer_norm(x, scale, bias, epsilon, begin_norm_axis): the dims from begin_norm_axis on are whole.
SpmdAnswer layer_norm(const SpmdCall& call) {
  std::size_t begin = std::size_t(call.integer(1));
  Dims wanted = leading(call, call.tensor(0), begin);
  DistAttr statistics = statistics_attr(wanted, begin);
  return {.inputs = {attr_of(wanted), whole_vector(), whole_vector()},
          .outputs = {attr_of(wanted), statistics, statistics}};
}

// fused_rms_norm(x, scale, epsilon): the last dim is whole.
SpmdAnswer rms_norm(const SpmdCall& call) {
  call.require_dims(call.tensor(0), 1);
  std::size_t begin = call.tensor(0).shape.size() - 1;
  Dims wanted = leading(call, call.tensor(0), begin);
  return {.inputs = {attr_of(wanted), whole_vector()},
          .outputs = {attr_of(wanted), statistics_attr(wanted, begin)}};
}

// Each image (or other sample) is whole: group_norm keeps the cut of the batch, instance_norm also
// that of the channels.
SpmdAnswer sample_norm(const SpmdCall& call, std::size_t kept) {
  Dims wanted = leading(call, call.tensor(0), kept);
  DistAttr statistics = statistics_attr(wanted, 2);
  return {.inputs = {attr_of(wanted), whole_vector(), whole_vector()},
          .outputs = {attr_of(wanted), statistics, statistics}};
}

SpmdAnswer group_norm(const SpmdCall& call) { return sample_norm(call, 1); }
SpmdAnswer instance_norm(const SpmdCall& call) { return sample_norm(call, 2); }

// batch_norm(x, mean, variance, scale, bias, is_test, momentum, epsilon, data_format, ..): only the
// channels stay cut, and the statistics with them. The channels are dim 1, whatever the format.
SpmdAnswer batch_norm(const SpmdCall& call) {
  const SpmdTensor& x = call.tensor(0);
  constexpr std::size_t channel = 1;
  call.require_dims(x, channel + 1);
  Dims wanted(x.shape.size(), -1);
  wanted[channel] = call.single(x)[channel];
  DistAttr statistics = attr_of(Dims{wanted[channel]});
  return {
      .inputs = {attr_of(wanted), statistics, statistics, whole_vector(), whole_vector()},
      .outputs = {attr_of(wanted), statistics, statistics, statistics, statistics, whole_vector()}};
}

constexpr NamedSpmdRule normalization_rules[] = {{"batch_norm", batch_norm},
                                                 {"fused_rms_norm", rms_norm},
                                                 {"group_norm", group_norm},
                                                 {"instance_norm", instance_norm},
                                                 {"layer_norm", layer_norm}};

}  // namespace

gsl::span<const NamedSpmdRule> normalization_spmd_rules() { return normalization_rules; }

}  // namespace simmesh::paddle
