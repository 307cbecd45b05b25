#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json on_one_device(const char* file) {
  return testing::first_with(std::string("../fsdp/") + file,
                             [](const json& each) { return each["mesh"].is_null(); });
}

TEST(VerifyTrain, PassesRecordedCases) {
  testing::expect_passes(on_one_device("train.jsonl"));
  testing::expect_passes(on_one_device("train_exact.jsonl"));
}

// Each check that never fires would let a wrong training run pass as right.
TEST(VerifyTrain, NamesWhatDiffers) {
  json value = on_one_device("train.jsonl");
  testing::expect_fails(value, "/losses/0", 1e6, "rank 0: losses[0]: expected 1000000");
  testing::expect_fails(value, "/grad_norms/1", 1e6, "grad_norms[1]");
  testing::expect_fails(value, "/final/l0.weight/sum", 1e6, "final l0.weight: sum");
  testing::expect_fails(value, "/final/l0.weight/last", 1e6, "final l0.weight: last");
  json exact = on_one_device("train_exact.jsonl");
  std::string first = exact["final"].begin().key();
  testing::expect_fails(exact, ("/final/" + first).c_str(), "0000000000000000",
                        "final " + first + ": hash");
  testing::expect_fails(exact, "/losses/0", 0.3, "losses[0]");
}

// A mistake of a single rank is one: the figures of all ranks are compared.
TEST(VerifyTrain, ComparesEveryRank) {
  json value = testing::first_with("../fsdp/train_exact.jsonl",
                                   [](const json& each) { return each["world"] == 4; });
  value["losses"][0] = 0.3;
  std::vector<std::string> mismatches = testing::verify_value(value).mismatches();
  for (const char* rank : {"rank 0: losses[0]", "rank 3: losses[0]"})
    EXPECT_THAT(mismatches, ::testing::Contains(::testing::HasSubstr(rank)));
}

TEST(VerifyTrain, NamesWordsThatItDoesNotKnow) {
  json value = on_one_device("train.jsonl");
  testing::expect_fails(value, "/loss", "hinge", "'hinge' is not known, expected mse");
  testing::expect_fails(value, "/optimizer/name", "lamb", "'lamb' is not known, expected sgd");
  testing::expect_fails(value, "/model/kind", "maze", "'maze' is not known");
}

TEST(VerifyTrain, BadCasesSayWhere) {
  json value = on_one_device("train.jsonl");
  json parameters = value["params"];
  parameters.push_back(parameters[0]);
  testing::expect_bad(value, "/params", parameters, "those of the modules");
  parameters.erase(parameters.size() - 1);
  std::swap(parameters[0], parameters[1]);
  testing::expect_bad(value, "/params", parameters, "the parameter l0.weight");
  testing::expect_bad(value, "/params/0/shape", json::array({3}), "at place 0");
  testing::expect_bad(value, "/model/children/1/name", value["model"]["children"][0]["name"],
                      "a name of its own");
  testing::expect_bad(value, "/steps", 0, "field 'steps'");
}

}  // namespace
}  // namespace simmesh
