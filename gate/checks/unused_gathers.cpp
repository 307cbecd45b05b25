#include <fmt/format.h>
#include <limits>

#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

struct ExpectedGathers {
  std::int64_t unused = -1;  // of each rank; -1: not checked
};

void read_gathers(GateTable& table, const ExpectUse& use, GateExpect& expect) {
  std::int64_t unused =
      table.integer("unused_gathers", -1, {-1, std::numeric_limits<std::int64_t>::max()});
  if (unused >= 0 && !use.parallel.fsdp)
    table.reject("unused_gathers", "no such key in a gate without parallel.fsdp");
  expect.set_own(ExpectedGathers{unused});
}

void explain_gathers(const GateExpect& expect, TomlTable& table) {
  table.add("unused_gathers", expect.own<ExpectedGathers>().unused);
}

bool asks_for_gathers(const GateFile& gate) {
  return gate.expect.own<ExpectedGathers>().unused >= 0;
}

void check_gathers(CheckedRun& checked) {
  std::int64_t expected = checked.gate.expect.own<ExpectedGathers>().unused;
  std::string each = fmt::format("{} on each rank", expected);
  for (const RankFindings& found : checked.base.ranks)
    if (std::int64_t actual = found.gathers.unused(); actual != expected)
      return checked.add("unused_gathers", false, each,
                         fmt::format("{} on rank {}", actual, found.rank));
  checked.add("unused_gathers", true, each, std::to_string(expected));
}

const CheckKind unused_gathers_kind(CheckKind::OfKeys{.keys = {"unused_gathers"},
                                                      .after = "events",
                                                      .reads = read_gathers,
                                                      .explains = explain_gathers,
                                                      .is_asked = asks_for_gathers,
                                                      .runs = check_gathers});

}  // namespace

}  // namespace simmesh
