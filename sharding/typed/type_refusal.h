#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/error.h"

namespace simmesh::typed {

// RefusalCode is the reason for which a call has no type.
enum class RefusalCode : std::uint8_t {
  bad_dst,
  bad_src,
  expert,
  invariant_mixed,
  loss_type,
  loss_untyped,
  missing_axis,
  mutate_axis,
  mutate_src,
  mutation,
  no_conversion,
  no_grad_dst,
  no_grad_only,
  no_grad_src,
  no_spec,
  no_strategy,
  not_sum,
  partial_affine,
  partial_divisor,
  partial_nonlinear,
  partial_twice,
  partial_with_varying,
  reinterpret_shard,
  shard_change,
  spec_conflict,
  strided_shard,
  type_mismatch,
  untyped_axis,
  wrong_output,
  wrong_shard,
  wrong_src,
};

// RefusalFacts are what the package spmd_types says for a code.
struct RefusalFacts {
  RefusalCode code;
  std::string_view name;    // "bad_dst"
  std::string_view error;   // the class: SpmdTypeError, ValueError or DTensorPropagationError
  std::string_view phrase;  // words of the message
};

// refusal_facts returns those of a code; all_refusals those of every code.
const RefusalFacts& refusal_facts(RefusalCode code);
const std::vector<RefusalFacts>& all_refusals();

// TypeRefusal is the refusal of a call. Its kind is that of the package's class: ValueError, else
// RuntimeError.
class TypeRefusal : public Error {
 public:
  // An axis is named where the refusal is due to one; a ValueError names none.
  explicit TypeRefusal(RefusalCode code, std::string axis = {});

  RefusalCode code() const { return code_; }
  const std::string& axis() const { return axis_; }

 private:
  RefusalCode code_;
  std::string axis_;
};

}  // namespace simmesh::typed
