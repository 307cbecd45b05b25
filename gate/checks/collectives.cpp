#include <fmt/format.h>
#include <limits>
#include <map>

#include "collectives/collective_call.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

// ExpectedCalls are the calls of each rank, by the name of the operation.
struct ExpectedCalls {
  struct Calls {
    CollectiveOp op;
    std::int64_t number;
  };
  std::map<std::string, Calls> by_name;
};

void read_calls(GateTable& table, const ExpectUse&, GateExpect& expect) {
  auto own = table.table("collectives");
  if (!own) return;
  ExpectedCalls expected;
  for (std::size_t i = 0; i < collective_op_count; ++i) {
    auto op = CollectiveOp(i);
    std::string name = name_of(op);
    if (own->has(name))
      expected.by_name[name] = {
          op, own->integer(name, 0, {0, std::numeric_limits<std::int64_t>::max()})};
  }
  own->finish();
  expect.set_own(expected);
}

void explain_calls(const GateExpect& expect, TomlTable& table) {
  std::string counts;
  for (const auto& [name, calls] : expect.own<ExpectedCalls>().by_name)
    counts += fmt::format("{}{} = {}", counts.empty() ? "" : ", ", name, calls.number);
  table.add("collectives", counts.empty() ? "{}" : "{ " + counts + " }");
}

bool asks_for_calls(const GateFile& gate) {
  return !gate.expect.own<ExpectedCalls>().by_name.empty();
}

// Checks the calls of each rank, and names the first rank that differs.
void check_calls(CheckedRun& checked) {
  const std::vector<RankFindings>& ranks = checked.base.ranks;
  for (const auto& [name, expected] : checked.gate.expect.own<ExpectedCalls>().by_name) {
    auto op = std::size_t(expected.op);
    std::size_t rank = 0;
    while (rank + 1 < ranks.size() && ranks[rank].calls[op] == expected.number) ++rank;
    std::int64_t actual = ranks[rank].calls[op];
    bool holds = actual == expected.number;
    checked.add(
        "collectives " + name, holds, fmt::format("{} on each rank", expected.number),
        holds ? std::to_string(actual) : fmt::format("{} on rank {}", actual, ranks[rank].rank));
  }
}

const CheckKind collectives_kind(CheckKind::OfKeys{.keys = {"collectives"},
                                                   .after = "schedules",
                                                   .reads = read_calls,
                                                   .explains = explain_calls,
                                                   .is_asked = asks_for_calls,
                                                   .runs = check_calls});

}  // namespace

}  // namespace simmesh
