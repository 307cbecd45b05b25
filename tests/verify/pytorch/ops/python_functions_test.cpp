#include "verify/pytorch/ops/python_functions.h"

#include <gmock/gmock.h>
#include <set>

#include "tests/expect_error.h"
#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PythonValue called(const char* function, std::vector<PythonValue> positional,
                   std::map<std::string, PythonValue> keywords = {}) {
  return call_python(function, {std::move(positional), std::move(keywords)});
}

std::string shown(const PythonValue& value) {
  std::string text;
  for (const PythonValue& one : flat(value)) {
    const Tensor* tensor = one.find<Tensor>();
    text += (text.empty() ? "" : "; ") + (tensor ? to_string(*tensor) : one.type_name());
  }
  return text;
}

PythonValue value_of(int value) { return std::int64_t(value); }
PythonValue values_of(std::vector<PythonValue> values) { return values; }

Tensor vector_of_three() { return tensor_of<float>({3}, {1, -2, 3}); }

// A function that nobody bound would fail each of its cases.
TEST(PythonFunctions, EachRecordedFunctionIsKnown) {
  std::set<std::string> unknown;
  for (const char* file : {"op", "op_grad", "errors", "disputed", "rules"})
    for (const nlohmann::json& value :
         testing::recorded_values("../pytorch_ops/" + std::string(file) + ".jsonl")) {
      if (value["kind"] == "module") continue;
      std::string function = value[value["kind"] == "rules" ? "op" : "torch"];
      if (!knows_python(function)) unknown.insert(function);
    }
  EXPECT_THAT(unknown, ElementsAre());
}

TEST(PythonFunctions, PickTheOverloadThatFits) {
  Tensor x = vector_of_three();
  EXPECT_EQ(shown(called("torch.add", {x, value_of(2)}, {{"alpha", value_of(3)}})),
            "float32[3] {7, 4, 9}");
  EXPECT_EQ(shown(called("torch.ops.aten.add.Tensor", {x, x})), "float32[3] {2, -4, 6}");
  EXPECT_EQ(shown(called("torch.max", {x})), "float32[] {3}");
  EXPECT_EQ(shown(called("torch.max", {x, value_of(0)})), "float32[] {3}; int64[] {2}");
  EXPECT_EQ(shown(called("torch.max", {x, x})), "float32[3] {1, -2, 3}");
  EXPECT_EQ(shown(called("torch.split", {x, value_of(2)})), "float32[2] {1, -2}; float32[1] {3}");
  EXPECT_EQ(shown(called("torch.split", {x, values_of({value_of(1), value_of(2)})})),
            "float32[1] {1}; float32[2] {-2, 3}");
  EXPECT_EQ(shown(called("Tensor.view", {x, DType::int32})).substr(0, 8), "int32[3]");
  EXPECT_EQ(shown(called("torch.equal", {x, x})), "bool");
}

TEST(PythonFunctions, InPlaceOnesReturnTheirFirstArgument) {
  Tensor x = vector_of_three();
  EXPECT_EQ(shown(called("Tensor.abs_", {x})), "float32[3] {1, 2, 3}");
  EXPECT_EQ(to_string(x), "float32[3] {1, 2, 3}");
  called("torch._foreach_mul_", {values_of({x}), value_of(2)});
  EXPECT_EQ(to_string(x), "float32[3] {2, 4, 6}");
}

TEST(PythonFunctions, ListsGoEntryByEntry) {
  Tensor x = vector_of_three(), y = tensor_of<float>({1}, {4});
  EXPECT_EQ(shown(called("torch._foreach_add",
                         {values_of({x, y}), values_of({value_of(1), value_of(2)})})),
            "float32[3] {2, -1, 4}; float32[1] {6}");
  EXPECT_EQ(shown(called("torch._foreach_norm", {values_of({y})}, {{"ord", value_of(1)}})),
            "float32[] {4}");
  EXPECT_THROW(called("torch._foreach_add", {values_of({x, y}), values_of({x})}), Error);
}

TEST(PythonFunctions, FusedAdamMakesOneStep) {
  auto one = [](double value) { return values_of({tensor_of<double>({1}, {value})}); };
  std::map<std::string, PythonValue> options = {
      {"lr", 0.5},   {"beta1", 0.5},     {"beta2", 0.75},   {"weight_decay", 0.0},
      {"eps", 0.25}, {"amsgrad", false}, {"maximize", true}};
  // m = 0.5 * -1, v = 0.25, p -= 0.5 / 0.5 * m / (0.5 / 0.5 + 0.25)
  EXPECT_EQ(shown(called("recorder.fused_adam",
                         {one(1), one(1), one(0), one(0), values_of({}), one(1)}, options)),
            "float64[1] {1.4}; float64[1] {-0.5}; float64[1] {0.25}");
  // The largest second moment so far is 4: p -= m / (2 / 0.5 + 1).
  options["amsgrad"] = true;
  options["eps"] = 1.0;
  EXPECT_EQ(shown(called("recorder.fused_adam", {one(1), one(1), one(0), one(0), one(4), one(1)},
                         options)),
            "float64[1] {1.1}; float64[1] {-0.5}; float64[1] {0.25}");
}

TEST(PythonFunctions, RefuseWhatTheyDoNotKnow) {
  Tensor x = vector_of_three();
  auto text_of = [&](const char* function, const std::vector<PythonValue>& positional) {
    return testing::kind_and_message([&] { called(function, positional); });
  };
  EXPECT_THAT(text_of("torch.nonsense", {x}), HasSubstr("NotImplementedError"));
  EXPECT_THAT(text_of("torch.add", {x}), HasSubstr("missing argument 'other'"));
  EXPECT_THAT(text_of("torch.sort", {x, std::string("up")}), HasSubstr("argument 'dim'"));
  EXPECT_THAT(text_of("Tensor.new_zeros", {x, values_of({value_of(1 << 20), value_of(1 << 20)})}),
              HasSubstr("at most"));
}

TEST(PythonFunctions, ListTensorsInTheOrderOfTheParameters) {
  Tensor x = zeros({1, 3}, DType::float32), weight = vector_of_three(),
         bias = zeros({3}, DType::float32);
  std::vector<Tensor> tensors =
      tensors_of_call("torch.nn.functional.layer_norm",
                      {{x, values_of({value_of(3)})}, {{"bias", bias}, {"weight", weight}}});
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[1].storage(), weight.storage());
}

}  // namespace
}  // namespace simmesh
