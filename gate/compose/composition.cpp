#include "gate/compose/composition.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/shell_word.h"

namespace simmesh {

std::int64_t Composition::passed() const {
  return std::count_if(layouts.begin(), layouts.end(),
                       [](const LayoutResult& result) { return result.passed(); });
}

std::string Composition::reproduce() const {
  for (const LayoutResult& result : layouts)
    if (!result.passed())
      return fmt::format("simmesh compose {} --layout {}{}", shell_word(file),
                         shell_word(result.name), flags);
  return "";
}

void name_smallest(std::vector<LayoutResult>& layouts) {
  for (auto result = layouts.begin(); result != layouts.end(); ++result) {
    if (result->passed()) continue;
    auto smaller = std::find_if(layouts.begin(), result, [&](const LayoutResult& other) {
      return !other.passed() && has_all_forms(result->forms, other.forms);
    });
    result->smallest = smaller == result ? result->name : smaller->smallest;
  }
}

bool has_all_forms(const std::vector<std::string>& forms, const std::vector<std::string>& asked) {
  return std::all_of(asked.begin(), asked.end(), [&](const std::string& form) {
    return std::find(forms.begin(), forms.end(), form) != forms.end();
  });
}

}  // namespace simmesh
