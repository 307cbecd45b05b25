#include "verify/case_work.h"

#include <gmock/gmock.h>

#include "tests/expect_error.h"
#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

nn::ModelNode linear(const std::string& name, std::int64_t in, std::int64_t out) {
  return {name, "linear", {{"in", in}, {"out", out}}, {}};
}

// Returns the refusal of `require_work` for a sequence of nodes; empty where it accepts.
std::string refusal_of(std::vector<nn::ModelNode> nodes, const RunSize& size,
                       std::vector<std::string> calls = {}) {
  TrainingModel model;
  model.node = {"", "sequential", {}, std::move(nodes)};
  if (!calls.empty()) model.node.fields["calls"] = std::move(calls);
  RecordedCase recorded = RecordedCase::parse(R"({"kind":"k","id":"i","model":1})", {});
  return testing::error_text([&] { require_work(recorded["model"], model, size); });
}

TEST(CaseWork, LetsCasesRunThatFit) {
  EXPECT_EQ(refusal_of({linear("a", 64, 64)}, {.ranks = 64, .steps = 100, .input = {32, 64}}), "");
}

// Nothing may be allocated or run for a case that no machine can hold or end.
TEST(CaseWork, RefusesWhatIsTooMuch) {
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal_of({linear("a", 1 << 20, 1 << 20)}, {}), HasSubstr("elements of parameters"));
  EXPECT_THAT(refusal_of({linear("a", 1 << 10, 1 << 10)}, {.ranks = 1024}),
              HasSubstr("elements of parameters"));
  EXPECT_THAT(refusal_of({linear("a", 2, 1 << 20)}, {.input = {1 << 20, 2}}),
              HasSubstr("elements of results"));
  EXPECT_THAT(refusal_of({linear("a", 2, 2)}, {.ranks = 1024, .steps = 1 << 20, .input = {1, 2}}),
              HasSubstr("calls of modules"));
  EXPECT_THAT(refusal_of({linear("a", 1 << 12, 1 << 12)}, {.steps = 1 << 20, .input = {1, 2}}),
              HasSubstr("products of numbers"));
}

// Each level that calls the one below twice doubles the calls: depth alone must not hang a case.
TEST(CaseWork, CountsCallsOfCalls) {
  nn::ModelNode node = linear("a", 1, 1);
  for (int level = 0; level < 60; ++level) {
    nn::ModelNode above{"a", "sequential", {}, {node}};
    above.fields["calls"] = std::vector<std::string>{"a", "a"};
    node = above;
  }
  EXPECT_THAT(refusal_of({node}, {.input = {1}}), ::testing::HasSubstr("in all ranks together"));
  EXPECT_EQ(refusal_of({linear("a", 1, 1)}, {.input = {1}}, {"a", "a", "a"}), "");
}

// Each kind with a model asks before it builds it.
TEST(CaseWork, BoundsEachKindWithAModel) {
  for (const char* file : {"events", "counts", "layout", "errors", "state_dict", "train"}) {
    json value = testing::first_with(std::string("../fsdp/") + file + ".jsonl",
                                     [](const json&) { return true; });
    value["world"] = 1024;
    value["params"][0]["shape"] = {1 << 20};
    EXPECT_THROW(testing::verify_value(value), BadCase) << file;
  }
  json value = testing::first_with("../zero/train.jsonl",
                                   [](const json& each) { return each["stage"] == 0; });
  value["steps"] = 4096;
  value["world"] = 4096;
  EXPECT_THROW(testing::verify_value(value), BadCase);
}

}  // namespace
}  // namespace simmesh
