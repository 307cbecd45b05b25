#include "sharding/typed/type_refusal.h"

#include <fmt/format.h>

namespace simmesh::typed {

namespace {

constexpr std::string_view type_error = "SpmdTypeError", value_error = "ValueError";

ErrorKind kind_of(RefusalCode code) {
  return refusal_facts(code).error == value_error ? ErrorKind::value_error
                                                  : ErrorKind::runtime_error;
}

std::string text_of(RefusalCode code, const std::string& axis) {
  const RefusalFacts& facts = refusal_facts(code);
  return axis.empty() ? std::string(facts.phrase) : fmt::format("axis {}: {}", axis, facts.phrase);
}

}  // namespace

const std::vector<RefusalFacts>& all_refusals() {
  using enum RefusalCode;
  static const std::vector<RefusalFacts> facts = {
      {bad_dst, "bad_dst", value_error, "dst must be"},
      {bad_src, "bad_src", value_error, "src must be"},
      {expert, "expert", value_error, "requires expert_mode=True"},
      {invariant_mixed, "invariant_mixed", type_error, "cannot mix with other types"},
      {loss_type, "loss_type", type_error, "would produce incorrect gradients"},
      {loss_untyped, "loss_untyped", type_error, "loss tensor with no SPMD type"},
      {missing_axis, "missing_axis", type_error, "missing axis"},
      {mutate_axis, "mutate_axis", type_error, "not found in tensor's SPMD type"},
      {mutate_src, "mutate_src", type_error, "expected current type"},
      {mutation, "mutation", type_error, "in-place/out operation would change"},
      {no_conversion, "no_conversion", value_error, "is not supported"},
      {no_grad_dst, "no_grad_dst", value_error, "requires dst=R or dst=I"},
      {no_grad_only, "no_grad_only", value_error, "requires tensor.requires_grad=False"},
      {no_grad_src, "no_grad_src", type_error, "requires the current type to be R or I"},
      {no_spec, "no_spec", type_error, "but no PartitionSpec entry"},
      {no_strategy, "no_strategy", type_error, "No valid sharding strategy"},
      {not_sum, "not_sum", value_error, "Only sum-Partial is supported"},
      {partial_affine, "partial_affine", type_error, "requires all operands to be Partial"},
      {partial_divisor, "partial_divisor", type_error, "Partial type in nonlinear argument"},
      {partial_nonlinear, "partial_nonlinear", type_error,
       "cannot propagate through non-linear ops"},
      {partial_twice, "partial_twice", type_error, "Partial in multiple factors"},
      {partial_with_varying, "partial_with_varying", type_error, "cannot combine with Varying"},
      {reinterpret_shard, "reinterpret_shard", value_error, "does not support S(i)"},
      {shard_change, "shard_change", value_error, "cannot change the shard dimension"},
      {spec_conflict, "spec_conflict", type_error, "PartitionSpec conflict"},
      {strided_shard, "strided_shard", "DTensorPropagationError", "_StridedShard placement"},
      {type_mismatch, "type_mismatch", type_error, "SPMD type mismatch on axis"},
      {untyped_axis, "untyped_axis", type_error, "has no type for axis"},
      {wrong_output, "wrong_output", type_error, "expected output tensor"},
      {wrong_shard, "wrong_shard", type_error, "expected input shard"},
      {wrong_src, "wrong_src", type_error, "expected input type"}};
  return facts;
}

const RefusalFacts& refusal_facts(RefusalCode code) { return all_refusals()[std::size_t(code)]; }

TypeRefusal::TypeRefusal(RefusalCode code, std::string axis)
    : Error(kind_of(code), "sharding/typed", text_of(code, axis)),
      code_(code),
      axis_(kind_of(code) == ErrorKind::value_error ? std::string() : std::move(axis)) {}

}  // namespace simmesh::typed
