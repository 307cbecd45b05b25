#include "verify/typed/typed_program.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

RecordedCase program_case(const std::string& steps) {
  return RecordedCase::parse(
      R"({"kind": "type_program", "id": "x", "mesh": {"shape": [2], "names": ["tp"]},
          "inputs": [{"name": "x", "t": {"tp": "R"}, "shape": [4]},
                     {"name": "v", "t": {"tp": "V"}, "shape": [4]}], "steps": [)" +
          steps + "]}",
      {.file = "x.jsonl"});
}

// If this fails, a write is seen under one of a tensor's names only.
TEST(TypedProgram, NamesOfOneTensorShareTheirType) {
  TypedProgram program = read_program(program_case(
      R"({"out": "y", "op": "add_", "in": ["x", "v"]}, {"out": "z", "op": "neg", "in": ["x"]})"));
  program.run();
  EXPECT_EQ(program.steps_done, 2u);
  EXPECT_EQ(program.value("x"), program.value("y"));
  EXPECT_TRUE(program.steps[0].writes_operand());
  EXPECT_EQ(types_text(program.value("x")->tensor.types), "{tp: V}");
  EXPECT_EQ(types_text(program.value("z")->tensor.types), "{tp: V}");
}

TEST(TypedProgram, NamesAValueThatIsNotThere) {
  TypedProgram program = read_program(program_case(R"({"out": "y", "op": "neg", "in": ["w"]})"));
  testing::expect_error([&] { program.run(); }, ErrorKind::key_error, "got 'w'");
}

}  // namespace
}  // namespace simmesh
