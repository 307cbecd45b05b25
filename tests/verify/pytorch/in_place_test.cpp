#include "tests/verify/changed_case.h"
#include "verify/pytorch/in_place_program.h"

namespace simmesh {
namespace {

using nlohmann::json;

json an_in_place_case() {
  return testing::first_with("../pytorch_autograd/in_place.jsonl", [](const json& each) {
    return std::any_of(each["programs"].begin(), each["programs"].end(),
                       [](const json& program) { return program.contains("refused"); });
  });
}

// A program of views and changes in place gets another gradient or refusal than in PyTorch.
TEST(VerifyInPlace, AllHold) {
  VerifyRequest request;
  request.paths = {SIMMESH_SOURCE_DIR "/tests/cases/pytorch_autograd"};
  VerifyResult result = verify(request);
  std::vector<std::string> failed;
  for (const FailedCase& one : result.failures) failed.push_back(one.id);
  EXPECT_THAT(failed, ::testing::IsEmpty());
  EXPECT_EQ(result.total.passed + result.total.failed, 120);
}

// A check that never fires would let a wrong gradient or another refusal pass as right.
TEST(VerifyInPlace, NamesWhatDiffers) {
  json value = an_in_place_case();
  for (std::size_t i = 0; i < value["programs"].size(); ++i) {
    std::string path = "/programs/" + std::to_string(i);
    bool is_refused = value["programs"][i].contains("refused");
    std::string steps = value["programs"][i]["steps"];
    if (is_refused) {
      testing::expect_fails(value, (path + "/at").c_str(), 99, steps);
    } else {
      testing::expect_fails(value, (path + "/hash").c_str(), "0000000000000000", steps);
    }
  }
  testing::expect_fails(value, "/programs/0/steps", "unbind@2,0 mul2_@4 end@2", "one_of_several");
}

TEST(VerifyInPlace, BadCasesSayWhere) {
  json value = an_in_place_case();
  for (const char* steps : {"flat@2", "end@", "fly@2 end@2", "narrow@2,0 end@2", "end@2 flat@2"})
    testing::expect_bad(value, "/programs/0/steps", steps, "steps");
}

// The program runs step by step: a refusal names the step, and the end is a step, too.
TEST(InPlaceProgram, NamesTheRefusedStep) {
  InPlaceProgram::Result result = InPlaceProgram("flat@2 mul2_@0 end@2").run();
  EXPECT_EQ(result.refused, "leaf");
  EXPECT_EQ(result.at, 1);
  result = InPlaceProgram("square@2 mul2_@2 end@4").run();
  EXPECT_EQ(result.refused, "saved");
  EXPECT_EQ(result.at, 2);
  EXPECT_EQ(InPlaceProgram("flat@2 end@4").run().hash.size(), 16);
  testing::expect_error([] { InPlaceProgram("flat@9 end@2").run(); }, ErrorKind::value_error,
                        "got number 9");
}

}  // namespace
}  // namespace simmesh
