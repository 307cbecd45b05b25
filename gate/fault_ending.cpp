#include "gate/fault_ending.h"

#include <fmt/format.h>

#include "core/check/hash_text.h"
#include "gate/checked_run.h"

namespace simmesh {

std::string expected_ending(const GateFault& fault, std::uint64_t data_hash) {
  switch (fault.kind) {
    case Fault::Kind::kill:
    case Fault::Kind::fail_allocation:
      return fmt::format("the injected failure of rank {}", fault.rank);
    case Fault::Kind::abandon: return "a deadlock";
    case Fault::Kind::call_another: return "a mismatch";
    case Fault::Kind::flip_bit: return "another data hash";
    case Fault::Kind::starve: break;
  }
  return fmt::format("data hash {}", hash_text(data_hash));
}

bool is_reported(const GateFault& fault, const Outcome& outcome, std::uint64_t data_hash) {
  if (fault.kind == Fault::Kind::starve) return outcome.ok() && outcome.data_hash == data_hash;
  if (outcome.ok()) return fault.kind == Fault::Kind::flip_bit && outcome.data_hash != data_hash;
  const Failure& failure = *outcome.failure;
  if (fault.kind == Fault::Kind::abandon) return failure.kind == Failure::Kind::deadlock;
  if (failure.kind != Failure::Kind::error) return false;
  bool is_own = fault.kind == Fault::Kind::kill || fault.kind == Fault::Kind::fail_allocation;
  return !is_own ||
         (failure.rank == fault.rank && failure.message.find("injected") != std::string::npos);
}

}  // namespace simmesh
