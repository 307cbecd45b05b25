#include "core/check/check.h"

namespace simmesh::detail {

void contract_broken(const char* file, int line, const char* condition, fmt::string_view format,
                     fmt::format_args args) {
  throw ContractViolation(fmt::format("[{}:{}] contract violated: {}: {}", file, line, condition,
                                      fmt::vformat(format, args)));
}

}  // namespace simmesh::detail
