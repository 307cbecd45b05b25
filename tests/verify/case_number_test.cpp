#include "verify/case_number.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If this fails, results that aren't finite, which JSON has no numbers for, can't be compared.
TEST(CaseNumber, IsANumberOrAWordForWhatIsNotFinite) {
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind":"k","id":"i","n":0.5,"a":"inf","b":"-inf","c":"nan","d":"many"})", {});
  EXPECT_EQ(read_number(recorded["n"]), 0.5);
  EXPECT_EQ(read_number(recorded["a"]), std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_number(recorded["b"]), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(read_number(recorded["c"])));
  testing::expect_error([&] { read_number(recorded["d"]); }, ErrorKind::value_error,
                        "a number, inf, -inf or nan");
}

}  // namespace
}  // namespace simmesh
