#include "core/engine/ranks/call_contents.h"

#include <algorithm>

namespace simmesh {

namespace {

constexpr std::string_view separator = ", ";

// Returns the first name of a list, and removes it.
std::string_view take_name(std::string_view& names) {
  if (names.empty()) return "nothing more";
  std::size_t end = std::min(names.find(separator), names.size());
  std::string_view name = names.substr(0, end);
  names.remove_prefix(std::min(end + separator.size(), names.size()));
  return name;
}

}  // namespace

ContentsDifference difference_of_contents(std::string_view first, std::string_view second) {
  if (first.empty() || second.empty() || first == second) return {};
  for (;;) {
    ContentsDifference names{take_name(first), take_name(second)};
    if (names.first != names.second) return names;
  }
}

}  // namespace simmesh
