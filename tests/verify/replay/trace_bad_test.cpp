#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json bad_trace_case(const std::string& id) {
  json value = testing::first_with("../replay/trace_bad.jsonl",
                                   [&](const json& each) { return each["id"] == id; });
  for (json& file : value["files"]) file = "../replay/" + file.get<std::string>();
  return value;
}

TEST(VerifyTraceBad, ComparesTheVerdict) {
  json value = bad_trace_case("split_sum");
  testing::expect_passes(value);
  testing::expect_fails(value, "/verdict", "ok",
                        "verdict: expected ok, got error from: error split_sum");
  testing::expect_fails(bad_trace_case("uneven_ok"), "/verdict", "warning",
                        "verdict: expected warning, got ok");
}

TEST(VerifyTraceBad, ComparesTheRuleAndWhatIsNamed) {
  json value = bad_trace_case("unknown_group");
  testing::expect_passes(value);
  json any = value;
  any.erase("rule");
  testing::expect_passes(any);
  testing::expect_fails(value, "/must_name/0", 5, "names all of must_name");
  testing::expect_fails(value, "/must_name/1", "no such words", "names all of must_name");
}

// Node 900 doesn't name node 90.
TEST(VerifyTraceBad, NumbersStandByThemselves) {
  json value = bad_trace_case("missing_parent");
  testing::expect_passes(value);
  testing::expect_fails(value, "/must_name/1", 90, "names all of must_name");
}

}  // namespace
}  // namespace simmesh
