#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "core/check/counted.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

// MemoryLimits are the most bytes that a rank may hold at once, by the name of their category.
struct MemoryLimits {
  struct Limit {
    MemoryCategory category;
    std::int64_t bytes_max;
  };
  std::map<std::string, Limit> by_name;
};

void read_memory_limits(GateTable& table, const ExpectUse&, GateExpect& expect) {
  auto own = table.table("memory_bytes_max");
  if (!own) return;
  MemoryLimits limits;
  for (std::size_t i = 0; i < memory_category_count; ++i) {
    auto category = MemoryCategory(i);
    std::string name(to_string(category));
    if (own->has(name))
      limits.by_name[name] = {category,
                              own->integer(name, 0, {0, std::numeric_limits<std::int64_t>::max()})};
  }
  own->finish();
  expect.set_own(limits);
}

void explain_memory_limits(const GateExpect& expect, TomlTable& table) {
  std::string limits;
  for (const auto& [name, limit] : expect.own<MemoryLimits>().by_name)
    limits += fmt::format("{}{} = {}", limits.empty() ? "" : ", ", name, limit.bytes_max);
  table.add("memory_bytes_max", limits.empty() ? "{}" : "{ " + limits + " }");
}

bool asks_for_memory_limits(const GateFile& gate) {
  return !gate.expect.own<MemoryLimits>().by_name.empty();
}

void check_memory_limits(CheckedRun& checked) {
  for (const auto& [name, limit] : checked.gate.expect.own<MemoryLimits>().by_name) {
    std::int64_t actual = 0;
    for (const RankFindings& rank : checked.base.ranks)
      actual = std::max(actual, rank.memory_peaks[std::size_t(limit.category)]);
    checked.add("memory_bytes_max " + name, actual <= limit.bytes_max,
                fmt::format("at most {} on each rank", counted(limit.bytes_max, "byte")),
                std::to_string(actual));
  }
}

const CheckKind memory_bytes_max_kind(CheckKind::OfKeys{.keys = {"memory_bytes_max"},
                                                        .after = "peak_bytes_max",
                                                        .reads = read_memory_limits,
                                                        .explains = explain_memory_limits,
                                                        .is_asked = asks_for_memory_limits,
                                                        .runs = check_memory_limits});

}  // namespace

}  // namespace simmesh
