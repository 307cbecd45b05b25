#include "gate/check_kind.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "gate/run_gate.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Scripts read the lines of a gate from top to bottom, so a new kind must not move the others.
TEST(CheckKind, AllAreInTheOrderOfTheirLines) {
  std::vector<std::string_view> names;
  for (const CheckKind* kind : CheckKind::all()) names.push_back(kind->name());
  EXPECT_THAT(names, ElementsAre("same_as", "checkpoint", "schedules", "collectives", "events",
                                 "unused_gathers", "device", "exposed_us_max", "peak_bytes_max",
                                 "loss", "hash", "faults"));
}

// Nobody finds a key that isn't on the page about gates.
TEST(CheckKind, EveryKeyIsOnThePage) {
  std::ifstream file(SIMMESH_SOURCE_DIR "/docs/gates.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string text = page.str();
  std::string section = text.substr(text.find("### [expect]\n"));
  section = section.substr(0, section.find("### [faults]\n"));
  for (const CheckKind* kind : CheckKind::all()) {
    if (kind->is_of_table()) {
      EXPECT_THAT(text, HasSubstr(fmt::format("### [{}]\n", kind->name())));
    }
    for (std::string_view key : kind->keys())
      EXPECT_THAT(section, HasSubstr(fmt::format("`{}`", key)));
  }
}

// A kind that every gate asks for would let gates pass that check nothing.
TEST(CheckKind, NoneIsAskedForByDefault) {
  GateFile gate = gate_from_text("", "g.toml");
  for (const CheckKind* kind : CheckKind::all()) EXPECT_FALSE(kind->is_asked(gate)) << kind->name();
  EXPECT_THROW(expect_checks(gate), BadGate);
}

}  // namespace
}  // namespace simmesh
