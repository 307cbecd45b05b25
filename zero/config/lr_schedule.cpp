#include "zero/config/lr_schedule.h"

#include "core/check/error.h"

namespace simmesh::zero {

std::vector<double> by_group(const PerGroup& value, std::size_t groups, const char* key) {
  if (const auto* one = std::get_if<double>(&value)) return std::vector<double>(groups, *one);
  const auto& list = std::get<std::vector<double>>(value);
  if (list.size() != groups)
    raise(ErrorKind::value_error, "zero/scheduler",
          "scheduler.params.{}: expected a number, or {} for the groups of the optimizer, got {}",
          key, groups, list.size());
  return list;
}

}  // namespace simmesh::zero
