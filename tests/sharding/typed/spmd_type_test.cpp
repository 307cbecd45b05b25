#include "sharding/typed/spmd_type.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh::typed {
namespace {

using enum SpmdType;

// If this fails, a gradient is typed as its tensor is.
TEST(SpmdTypes, DualsSwapReplicateAndPartial) {
  EXPECT_EQ(dual(replicate), partial);
  EXPECT_EQ(dual(partial), replicate);
  EXPECT_EQ(dual(invariant), invariant);
  EXPECT_EQ(dual(varying), varying);
  EXPECT_EQ(dual_of({{"dp", replicate}, {"tp", varying}}),
            (AxisTypes{{"dp", partial}, {"tp", varying}}));
}

// If this fails, a text that means nothing is taken for a type.
TEST(SpmdTypes, AreReadAsTheyAreWritten) {
  for (const char* text : {"R", "I", "V", "P", "S(0)", "S(12)"})
    EXPECT_EQ(to_string(parse_type(text).value()), text);
  for (const char* text :
       {"", "r", "X", "S", "S()", "S(-1)", "S(x)", "S(1", "S(1) ", "S(99)", "RR"})
    EXPECT_FALSE(parse_type(text)) << text;
}

// If this fails, a tensor keeps a cut that its type rules out, or loses that of another axis.
TEST(SpmdTypes, TensorsKeepTheCutsOfTheirShards) {
  TypedTensor x{.shape = {4, 4}};
  EXPECT_FALSE(x.type_on("tp"));
  x.set_type("dp", {varying, 1});
  x.set_type("tp", {varying, 1});
  EXPECT_EQ(x.spec, (PartitionSpec{{}, {"dp", "tp"}}));
  x.set_type("dp", {replicate});
  EXPECT_EQ(x.spec, (PartitionSpec{{}, {"tp"}}));
  EXPECT_EQ(x.full_type_on("tp"), (TypeOnAxis{varying, 1}));
  x.set_type("tp", {varying}, true);
  EXPECT_TRUE(cuts_any(x.spec));
  x.set_type("tp", {varying});
  EXPECT_FALSE(cuts_any(x.spec));
  testing::expect_error(
      [&] {
        x.set_type("tp", {varying, 2});
      },
      ErrorKind::value_error, "expected a dim below 2");
}

TEST(SpmdTypes, ContextsKnowTheirAxes) {
  TypingContext context{.axes = {{"dp", 2}, {"tp", 4}}};
  EXPECT_EQ(context.size_of("tp"), 4);
  testing::expect_error([&] { context.size_of("ep"); }, ErrorKind::key_error, "got 'ep'");
}

}  // namespace
}  // namespace simmesh::typed
