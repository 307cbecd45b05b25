#include "sharding/rules/rule_check.h"

#include <fmt/format.h>

#include "core/check/append_text.h"

namespace simmesh {

std::string RuleCounterExample::text() const {
  std::string where;
  for (const RuleRow& row : rows)
    append_text(where, "{}{}", where.empty() ? "" : "; ", to_string(row));
  where += " on a mesh of ";
  for (std::size_t i = 0; i < mesh.size(); ++i) append_text(where, "{}{}", i ? " x " : "", mesh[i]);
  append_text(where, ", inputs {}: {}", to_string(shapes), what);
  return index.empty() ? fmt::format("{}: {}", where, problem)
                       : fmt::format("{}{}: expected {}, got {}", where, index, expected, got);
}

std::string RuleCheck::text() const {
  std::string lines = fmt::format("rule of {}: {}", function, holds() ? "confirmed" : "REFUTED");
  for (const RuleCounterExample& each : refuted) append_text(lines, "\n  {}", each.text());
  append_text(lines, "\n  {} combinations judged", trials);
  if (coverable > 0)
    append_text(lines,
                "\n  the rule covers {} of {} placements of the inputs that need no communication",
                covered, coverable);
  for (const RuleRow& row : unclaimed) append_text(lines, "\n  also holds: {}", to_string(row));
  if (!refused.empty())
    append_text(lines, "\n  left out {} sizes, the first inputs {}: {}", refused.size(),
                to_string(refused[0].first), refused[0].second);
  return lines;
}

}  // namespace simmesh
