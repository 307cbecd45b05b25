#include "core/check/check.h"

namespace simmesh::detail {

void contract_violated(const char* file, int line, const char* condition, std::string message) {
  throw ContractViolation(
      fmt::format("[{}:{}] contract violated: {}: {}", file, line, condition, message));
}

}  // namespace simmesh::detail
