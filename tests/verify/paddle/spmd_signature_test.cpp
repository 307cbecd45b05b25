#include "verify/paddle/spmd_signature.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace simmesh {
namespace {

void require(const std::string& op, const std::string& inputs, const std::string& attributes) {
  RecordedCase recorded = RecordedCase::parse(
      R"({"kind": "k", "id": "i", "inputs": )" + inputs + R"(, "attrs": )" + attributes + "}", {});
  require_spmd_signature(op, recorded["inputs"], recorded["attrs"]);
}

TEST(SpmdSignature, TakesWhatPaddleTakes) {
  require("matmul", "[{}, {}]", "[false, true]");
  require("concat", "[[{}, {}]]", "[1]");
  require("squeeze", "[{}]", "[2]");
  require("no_such_op", "[]", "[1, 2, 3]");
}

// A rule reads what it needs; more inputs, fewer attributes or other types would pass unseen.
TEST(SpmdSignature, RefusesOtherArguments) {
  auto refused = [](const char* inputs, const char* attributes, const char* phrase) {
    testing::expect_error<BadCase>([&] { require("matmul", inputs, attributes); },
                                   ErrorKind::value_error, phrase);
  };
  refused("[{}, {}, {}]", "[false, true]", "inputs TT");
  refused("[[{}], {}]", "[false, true]", "inputs TT");
  refused("[{}, {}]", "[false]", "attributes bool bool");
  refused("[{}, {}]", R"(["False", true])", "attributes bool bool");
}

}  // namespace
}  // namespace simmesh
