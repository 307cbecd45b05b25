#include "gate/check_kind.h"

#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <sstream>

#include "gate/run_gate.h"
#include "gate/tables/toml_table.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

std::string page_about_gates() {
  std::ifstream file(SIMMESH_SOURCE_DIR "/docs/gates.md");
  std::stringstream page;
  page << file.rdbuf();
  return page.str();
}

// Nobody finds a key that isn't on the page about gates. Its table has the order of the lines,
// which a new kind must not change unnoticed, since scripts read them.
TEST(CheckKind, EveryKeyIsOnThePageInTheOrderOfTheLines) {
  std::string text = page_about_gates();
  std::string table = text.substr(text.find("### [expect]\n"));
  table = table.substr(0, table.find("### [faults]\n"));
  std::size_t last = 0;
  for (const CheckKind* kind : CheckKind::all()) {
    if (kind->is_of_table()) {
      EXPECT_THAT(text, HasSubstr(fmt::format("### [{}]\n", kind->name())));
      continue;
    }
    std::size_t row = table.find(fmt::format("\n| `{}`", kind->name()));
    ASSERT_NE(row, table.npos) << kind->name();
    EXPECT_GT(row, last) << kind->name();
    last = row;
    for (std::string_view key : kind->keys())
      EXPECT_THAT(table, HasSubstr(fmt::format("`{}`", key)));
  }
}

// A key that --explain leaves out would not read back, and one that `keys` leaves out would escape
// the checks of the page and of worlds without data.
TEST(CheckKind, EachExplainsItsKeys) {
  for (const CheckKind* kind : CheckKind::all()) {
    TomlTable table("expect");
    kind->explain(GateExpect(), table);
    std::vector<std::string> explained;
    std::istringstream lines(table.text());
    for (std::string line; std::getline(lines, line);)
      if (std::size_t end = line.find(" = "); end != line.npos)
        explained.push_back(line.substr(0, end));
    EXPECT_THAT(explained, ::testing::ElementsAreArray(kind->keys())) << kind->name();
  }
}

// Two kinds in one place would print their lines in the order of the linker.
TEST(CheckKind, EachHasAPlaceOfItsOwn) {
  std::set<std::string_view> names;
  for (const CheckKind* kind : CheckKind::all())
    EXPECT_TRUE(names.insert(kind->name()).second) << kind->name();
  EXPECT_THAT(names, ::testing::IsSupersetOf({"same_as", "checkpoint", "faults"}));
}

// A kind that every gate asks for would let gates pass that check nothing.
TEST(CheckKind, NoneIsAskedForByDefault) {
  GateFile gate = gate_from_text("", "g.toml");
  for (const CheckKind* kind : CheckKind::all()) EXPECT_FALSE(kind->is_asked(gate)) << kind->name();
  EXPECT_THROW(expect_checks(gate), BadGate);
}

}  // namespace
}  // namespace simmesh
