#include "gate/tables/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/check.h"
#include "gate/tables/keys.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;

GateLayout layout_of(const std::string& text, std::int64_t ranks_max = 64) {
  toml::table file = parse_toml(text, "g.toml");
  GateTable table(file, "g.toml", "mesh");
  return read_gate_layout(table, "shape", ranks_max);
}

TEST(GateLayout, NamesDimsThatHaveNone) {
  EXPECT_THAT(layout_of("").names, ElementsAre("dp"));
  EXPECT_THAT(layout_of("shape = [4]").names, ElementsAre("dp"));
  EXPECT_THAT(layout_of("shape = [4, 2]").names, ElementsAre("dim0", "dim1"));
  GateLayout named = layout_of("shape = [4, 2]\nnames = [\"dp\", \"tp\"]");
  EXPECT_EQ(named.index_of("tp"), 1u);
  EXPECT_EQ(named.stride_of("dp"), 2);
  EXPECT_EQ(named.stride_of("tp"), 1);
  EXPECT_THROW(named.index_of("pp"), ContractViolation);
}

// If this fails, a gate runs on another mesh than it says, or on more ranks than fit.
TEST(GateLayout, RefusesMeshesThatMeanNothing) {
  expect_error([] { layout_of("shape = []"); }, ErrorKind::value_error, "at least one size");
  expect_error([] { layout_of("shape = [8, 9]"); }, ErrorKind::value_error, "at most 64 ranks");
  expect_error([] { layout_of("shape = [64, 64, 64, 64, 64]", 64); }, ErrorKind::value_error,
               "at most 64 ranks");
  expect_error([] { layout_of("shape = [2, 2]\nnames = [\"dp\"]"); }, ErrorKind::value_error,
               "one name per size, 2 in all");
  expect_error([] { layout_of("shape = [2, 2]\nnames = [\"dp\", \"dp\"]"); },
               ErrorKind::value_error, "different names");
}

}  // namespace
}  // namespace simmesh
