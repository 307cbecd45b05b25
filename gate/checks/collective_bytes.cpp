#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "collectives/collective_call.h"
#include "core/check/counted.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

// BytesOfCalls are the bytes of a rank's operands in all calls, by the name of the operation.
struct BytesOfCalls {
  struct Limit {
    CollectiveOp op;
    std::int64_t bytes_max;
  };
  std::map<std::string, Limit> by_name;
};

void read_bytes_of_calls(GateTable& table, const ExpectUse&, GateExpect& expect) {
  auto own = table.table("collective_bytes_max");
  if (!own) return;
  BytesOfCalls limits;
  for (std::size_t i = 0; i < collective_op_count; ++i) {
    auto op = CollectiveOp(i);
    std::string name = name_of(op);
    if (own->has(name))
      limits.by_name[name] = {op,
                              own->integer(name, 0, {0, std::numeric_limits<std::int64_t>::max()})};
  }
  own->finish();
  expect.set_own(limits);
}

void explain_bytes_of_calls(const GateExpect& expect, TomlTable& table) {
  std::string limits;
  for (const auto& [name, limit] : expect.own<BytesOfCalls>().by_name)
    limits += fmt::format("{}{} = {}", limits.empty() ? "" : ", ", name, limit.bytes_max);
  table.add("collective_bytes_max", limits.empty() ? "{}" : "{ " + limits + " }");
}

bool asks_for_bytes_of_calls(const GateFile& gate) {
  return !gate.expect.own<BytesOfCalls>().by_name.empty();
}

void check_bytes_of_calls(CheckedRun& checked) {
  for (const auto& [name, limit] : checked.gate.expect.own<BytesOfCalls>().by_name) {
    auto op = std::size_t(limit.op);
    auto most = std::max_element(
        checked.base.ranks.begin(), checked.base.ranks.end(),
        [op](const RankFindings& a, const RankFindings& b) { return a.bytes[op] < b.bytes[op]; });
    auto actual = std::int64_t(most->bytes[op]);
    std::string limited = counted(limit.bytes_max, "byte");
    checked.add(
        "collective_bytes_max " + name, actual <= limit.bytes_max,
        fmt::format("at most {} of operands on each rank", limited),
        fmt::format("{} in {} on rank {}", actual, counted(most->calls[op], "call"), most->rank));
  }
}

const CheckKind collective_bytes_max_kind(CheckKind::OfKeys{.keys = {"collective_bytes_max"},
                                                            .after = "collectives",
                                                            .reads = read_bytes_of_calls,
                                                            .explains = explain_bytes_of_calls,
                                                            .is_asked = asks_for_bytes_of_calls,
                                                            .runs = check_bytes_of_calls});

}  // namespace

}  // namespace simmesh
