#include "verify/typed/program_values.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TypedProgram program_of(const std::string& inputs, const std::string& steps) {
  TypedProgram program = read_program(RecordedCase::parse(
      R"({"kind": "type_program", "id": "x", "mesh": {"shape": [2], "names": ["tp"]},
          "inputs": [)" +
          inputs + R"(], "steps": [)" + steps + "]}",
      {.file = "x.jsonl"}));
  program.run();
  return program;
}

// A row-parallel layer: its product is the term of a sum.
const std::string layer_inputs =
    R"({"name": "x", "t": {"tp": "V"}, "shape": [4, 2], "grad": true},
       {"name": "w", "t": {"tp": "V"}, "shape": [2, 4], "grad": true})";
const std::string layer =
    R"({"out": "y", "op": "matmul", "in": ["x", "w"]},
       {"out": "z", "op": "all_reduce", "in": ["y"], "axis": "tp",
        "args": {"src": "P", "dst": "I"}},
       {"out": "a", "op": "tanh", "in": ["z"]}, {"out": "l", "op": "sum", "in": ["a"]},
       {"out": null, "op": "backward", "in": ["l"]})";

TEST(ProgramValues, ConfirmTypedGradients) {
  EXPECT_EQ(program_counter_example(program_of(layer_inputs, layer)), std::nullopt);
}

// If this fails, a backward call that isn't the derivative of its collective is confirmed.
TEST(ProgramValues, FindAWrongBackwardCall) {
  TypedProgram program = program_of(layer_inputs, layer);
  program.steps[1].outcome.backward = {
      {"all_reduce", {typed::SpmdType::partial}, {typed::SpmdType::replicate}}};
  EXPECT_THAT(program_counter_example(program).value_or("none"),
              HasSubstr("is another one than the derivative of the loss"));
}

// If this fails, a view that was written through its base keeps a type that ranks contradict.
TEST(ProgramValues, FindWritesThroughOtherNames) {
  TypedProgram program = program_of(
      R"({"name": "x", "t": {"tp": "R"}, "shape": [4]},
         {"name": "v", "t": {"tp": "V"}, "shape": [4]})",
      R"({"out": "y", "op": "view", "in": ["x"], "args": {"shape": [2, 2]}},
         {"out": "z", "op": "add_", "in": ["x", "v"]})");
  EXPECT_THAT(program_counter_example(program).value_or("none"), HasSubstr("y is R on tp"));
}

}  // namespace
}  // namespace simmesh
