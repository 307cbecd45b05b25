#include "core/ops/input_conversion.h"

#include <atomic>
#include <utility>

#include "core/engine/ranks/local_state.h"

namespace simmesh {

namespace {

struct InnermostConversion {
  const InputConversion::Convert* convert = nullptr;
};

InnermostConversion& innermost_conversion() { return local_state<InnermostConversion>(); }

// The scopes of all ranks: calls outside of any scope look no further.
std::atomic<std::int64_t>& open_scopes() {
  static std::atomic<std::int64_t> count = 0;
  return count;
}

// Returns the conversion of the innermost scope of this rank, null outside of any.
const InputConversion::Convert* open_conversion() {
  if (open_scopes().load(std::memory_order_relaxed) == 0) return nullptr;
  return innermost_conversion().convert;
}

}  // namespace

InputConversion::InputConversion(Convert convert)
    : convert_(std::move(convert)), outer_(innermost_conversion().convert) {
  innermost_conversion().convert = &convert_;
  ++open_scopes();
}

InputConversion::~InputConversion() {
  --open_scopes();
  innermost_conversion().convert = outer_;
}

bool InputConversion::is_open() { return open_conversion() != nullptr; }

std::vector<Tensor> InputConversion::converted(const Op& op, gsl::span<const Tensor> inputs) {
  const Convert* convert = open_conversion();
  return convert && *convert ? (*convert)(op, inputs) : std::vector<Tensor>();
}

}  // namespace simmesh
