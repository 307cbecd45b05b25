#pragma once

#include <optional>
#include <string>

#include "core/check/json_value.h"

namespace simmesh {

// PageDifference is a place at which two reports differ, and what each has there; a part that one
// of them lacks is "nothing".
struct PageDifference {
  std::string where;  // "mlp.toml, Timeline, rank 3, operation 17"
  std::string first;
  std::string second;
};

// first_page_difference returns the first difference between the data of two reports; nullopt if
// they show the same. Entries are compared by name, in the order of the first report. Of an entry,
// the timeline comes before everything else, since the first operation that differs explains what
// comes after it. The commands that made the reports don't count.
std::optional<PageDifference> first_page_difference(const JsonValue& a, const JsonValue& b);

}  // namespace simmesh
