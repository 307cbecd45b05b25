#include "sharding/paddle/spmd/axis_merge.h"
#include "sharding/paddle/spmd/spmd_rules.h"

namespace simmesh::paddle {

namespace {

// A cross entropy of logits against labels, along the axis `k` of the classes. Outputs are the
// softmax and the loss, of which the axis has size 1.
SpmdAnswer cross_entropy(const SpmdCall& call, std::size_t axis, bool is_soft_label) {
  const SpmdTensor& logits = call.tensor(0);
  const SpmdTensor& label = call.tensor(1);
  std::string logits_axes = "abcdefghijlmnopqrstuvwxyz";  // without k
  if (logits.shape.size() > logits_axes.size())
    refuse_argument(call, "expected at most {} dims, got {}", logits_axes.size(),
                    logits.shape.size());
  logits_axes.resize(logits.shape.size());
  logits_axes[axis] = 'k';
  std::string loss_axes = logits_axes;
  loss_axes[axis] = '1';
  std::string label_axes = is_soft_label ? logits_axes : loss_axes;
  AxisMeshDims merged =
      merge_axes(call, {{logits_axes, call.single(logits)}, {label_axes, call.single(label)}});
  return {.inputs = {merged.attr(logits_axes), merged.attr(label_axes)},
          .outputs = {merged.attr(logits_axes), merged.attr(loss_axes)}};
}

// cross_entropy_with_softmax(x, label, soft_label, use_softmax, numeric_stable_mode, ignore_index,
// axis)
SpmdAnswer cross_entropy_with_softmax(const SpmdCall& call) {
  const SpmdTensor& logits = call.tensor(0);
  std::size_t axis = call.dim_of(call.integer(4), logits.shape.size());
  bool is_soft_label = call.boolean(0), uses_softmax = call.boolean(1);
  if (call.single(logits)[axis] >= 0) {
    std::string trying = "Trying to shard the softmax_normalize axis of the input tensor, ";
    if (is_soft_label)
      refuse_argument(call, "{}but the soft_label is set as True, which is not supported yet!",
                      trying);
    if (axis + 1 != logits.shape.size())
      refuse_argument(call,
                      "{}but the softmax_normalize axis is not the last axis, which is not "
                      "supported yet! The softmax_normalize is [{}].",
                      trying, axis);
    if (!uses_softmax) refuse_argument(call, "{}use_softmax must be set to True !", trying);
  }
  SpmdAnswer answer = cross_entropy(call, axis, is_soft_label);
  if (!uses_softmax) answer.outputs[0] = DistAttr{};
  return answer;
}

// c_softmax_with_cross_entropy(logits, label, ignore_index, ring_id, rank, nranks)
SpmdAnswer c_softmax_with_cross_entropy(const SpmdCall& call) {
  call.require_dims(call.tensor(0), 1);
  return cross_entropy(call, call.tensor(0).shape.size() - 1, false);
}

constexpr NamedSpmdRule loss_rules[] = {
    {"c_softmax_with_cross_entropy", c_softmax_with_cross_entropy},
    {"cross_entropy_with_softmax", cross_entropy_with_softmax},
    {"softmax_with_cross_entropy", cross_entropy_with_softmax}};

}  // namespace

gsl::span<const NamedSpmdRule> loss_spmd_rules() { return loss_rules; }

}  // namespace simmesh::paddle
