#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;
constexpr const char* other_hash = "0000000000000000";

json a_case(const std::string& file, const std::string& id) {
  return testing::first_with("../pytorch_ops/" + file + ".jsonl",
                             [&](const json& each) { return each["id"] == id; });
}

// Each comparison that never fires would let a wrong result pass as right.
TEST(VerifyOp, NamesWhatDiffers) {
  json value = a_case("op", "op/abs/2150.2");
  testing::expect_passes(value);
  testing::expect_fails(value, "/outputs/0/hash/1", other_hash, "rank 1: output 0: bits");
  testing::expect_fails(value, "/outputs/0/full_hash", other_hash, "whole tensor: bits");
  testing::expect_fails(value, "/outputs/0/placements/0", "S(0)", "output 0: placements");
  testing::expect_fails(value, "/outputs/0/local_shape/2", json::array({9}), "local shape");
  testing::expect_fails(value, "/outputs/0/shape", json::array({9}), "shape");
  testing::expect_fails(value, "/outputs/0/dtype", "float64", "dtype");
  testing::expect_fails(value, "/comm/all_gather", 1, "collectives");
  testing::expect_fails(value, "/used/0/0", "P(sum)", "abs ran on");
  testing::expect_fails(value, "/torch", "torch.nonsense", "a function of PyTorch that is known");
  testing::expect_fails(value, "/args/1", 3, "positional arguments");
}

TEST(VerifyOp, ComparesValuesWithATolerance) {
  json value = testing::first_with("../pytorch_ops/op.jsonl", [](const json& each) {
    return each["op"] == "exp" && each["outputs"][0].contains("values");
  });
  testing::expect_passes(value);
  double first = value["outputs"][0]["full_values"][0];
  testing::expect_fails(value, "/outputs/0/full_values/0", first * (1 + 1e-4), "whole tensor");
  testing::expect_fails(value, "/outputs/0/values/0/0", 1e9, "output 0: value 0");
}

TEST(VerifyOp, ComparesValuesThatAreNoTensors) {
  json value = testing::first_with("../pytorch_ops/op.jsonl",
                                   [](const json& each) { return each["op"] == "equal"; });
  testing::expect_passes(value);
  testing::expect_fails(value, "/outputs/0/value", !value["outputs"][0]["value"].get<bool>(),
                        "output 0: value");
}

// The recorder saw gathers of an unfinished tensor twice.
TEST(VerifyOp, CountsGathersAsTheRecorderDid) {
  json value = a_case("op", "op/argmax/2150.1");
  testing::expect_passes(value);
  testing::expect_fails(value, "/comm/all_gather", 4, "collectives");
}

TEST(VerifyOp, ComparesGradients) {
  json value = a_case("op_grad", "op_grad/abs/2150.1");
  testing::expect_passes(value);
  testing::expect_fails(value, "/grads/0/full_hash", other_hash, "gradient of input 0");
  testing::expect_fails(value, "/grads/0/placements/0", "R", "gradient of input 0: placements");
  testing::expect_fails(value, "/comm_backward/all_gather", 2, "backward pass");
  testing::expect_fails(value, "/grads/0", nullptr, "expected no gradient of input 0");
}

// A gradient that is left out would never be asked for.
TEST(VerifyOp, RefusesAGradientLess) {
  json value = a_case("op_grad", "op_grad/mm/2150.0");
  testing::expect_passes(value);
  testing::expect_bad(value, "/grads", json::array({value["grads"][0]}),
                      "a gradient, or null, for each floating input");
  testing::expect_bad(value, "/grads/1/input", 0, "1, a floating input");
}

// Placements for other tensors than the operator's, or of which it makes others itself, would be
// taken for a dearer plan.
TEST(VerifyOp, ComparesThePlacementsOfEachTensorOfTheOperator) {
  json value = a_case("op", "op/sub/2150.3");
  testing::expect_passes(value);
  testing::expect_fails(value, "/used/0/0", "R", "sub runs on");
  testing::expect_fails(a_case("op", "op/where_scalar/2150.0"), "/used",
                        json::array({json::array({"R"}), json::array({"R"})}),
                        "used: expected placements of the distributed ones among 3 tensors");
  testing::expect_fails(a_case("op", "op/is_same_size/2150.0"), "/used/0/0", "R", "used: expected");
  testing::expect_fails(a_case("op", "op/argmax_dim/2150.0"), "/used/0/0", "R", "used: expected");
  testing::expect_fails(a_case("errors", "op_grad/hardtanh/2150.0"), "/used/0/0", "R",
                        "hardtanh ran on");
}

// Without a gradient no backward pass runs, and nothing would be compared with its collectives.
TEST(VerifyOp, RefusesCollectivesOfABackwardPassWithoutOne) {
  json value = a_case("op_grad", "op_grad/abs/2150.1");
  value.erase("grad_output");
  EXPECT_THROW(testing::verify_value(value), BadCase);
}

json complex_case(const char* function, const std::vector<const char*>& dtypes) {
  json value = a_case("op", "op/view_as_real/2150.0");
  json input = value["inputs"][0];
  value["torch"] = function;
  value["inputs"] = json::array();
  value["args"] = json::array();
  for (const char* dtype : dtypes) {
    value["args"].push_back({{"input", value["inputs"].size()}});
    value["inputs"].push_back(input);
    value["inputs"].back()["dtype"] = dtype;
  }
  return value;
}

// A complex tensor taken as a real one with one more dim gives wrong shapes and wrong values.
TEST(VerifyOp, RefusesFunctionsThatArentWrittenForComplexTensors) {
  testing::expect_passes(complex_case("torch.view_as_real", {"complex64"}));
  for (const char* function : {"torch.add", "torch.ops.aten.ones_like.default", "Tensor.sum"}) {
    json value = complex_case(function, {"complex64"});
    testing::expect_fails(value, "/inputs/0/dtype", "complex128", "expected complex tensors alone");
  }
  json mixed = complex_case("torch.add", {"complex64", "float32"});
  testing::expect_fails(mixed, "/args/0/input", 1, "expected complex tensors alone");
}

TEST(VerifyOp, ComparesRefusals) {
  json value = a_case("errors", "op/add_plain_tensor/2150.0");
  testing::expect_passes(value);
  testing::expect_fails(value, "/error", "KeyError", "expected a KeyError");
  testing::expect_fails(value, "/message_contains", "nothing of it", "nothing of it");
  json works = a_case("op", "op/abs/2150.2");
  for (const char* name : {"outputs", "comm", "aten", "used"}) works.erase(name);
  works["message_contains"] = "whatever";
  testing::expect_fails(works, "/error", "RuntimeError", "got no error");
}

// A product of partial parts rounds each of them, unless sums are exact.
TEST(VerifyOp, PassesBeyondARefusalThoughSumsAreOfParts) {
  json value = a_case("errors", "op/sdpa_math_causal/2150.0");
  CaseReport report = testing::verify_value(value);
  EXPECT_THAT(report.mismatches(), ::testing::IsEmpty());
  EXPECT_TRUE(report.is_beyond());
  EXPECT_TRUE(testing::verify_value(value, {.arithmetic = "canonical"}).failed());
}

// Where PyTorch lacks a strategy, the result on whole tensors is as good as the refusal.
TEST(VerifyOp, PassesBeyondARefusalByTheRightResult) {
  json value = a_case("op", "op/abs/2150.2");
  for (const char* name : {"outputs", "comm", "aten", "used"}) value.erase(name);
  value["error"] = "NotImplementedError";
  value["message_contains"] = "does not have a sharding strategy registered";
  CaseReport report = testing::verify_value(value);
  EXPECT_THAT(report.mismatches(), ::testing::IsEmpty());
  EXPECT_TRUE(report.is_beyond());
}

// A recorded plan that costs more, with the same whole result.
TEST(VerifyOp, PassesByACheaperPlan) {
  json value = a_case("op", "op/abs/2150.0");
  value["used"][0][0] = "R";
  value["comm"]["all_gather"] = 1;
  value["outputs"][0]["placements"][0] = "R";
  json& output = value["outputs"][0];
  for (json& shape : output["local_shape"]) shape = output["shape"];
  for (json& hash : output["hash"]) hash = output["full_hash"];
  CaseReport report = testing::verify_value(value);
  EXPECT_THAT(report.mismatches(), ::testing::IsEmpty());
  ASSERT_TRUE(report.cheaper());
  EXPECT_THAT(*report.cheaper(), ::testing::HasSubstr("PyTorch runs on [R]"));
  testing::expect_fails(value, "/outputs/0/full_hash", other_hash, "whole tensor: bits");
}

TEST(VerifyOp, BadCasesSayWhere) {
  json value = a_case("op", "op/abs/2150.0");
  testing::expect_bad(value, "/args/0/input", 4, "args.0.input");
  testing::expect_bad(value, "/inputs/0/placements", json::array({"R", "R"}), "mesh dims");
  testing::expect_bad(value, "/inputs/0/shape", json::array({1 << 30, 1 << 10}), "elements");
  testing::expect_bad(value, "/outputs/0/hash", json::array(), "one entry for each");
  testing::expect_bad(value, "/inputs/0/mesh", {{"shape", json::array({3})}}, "a mesh of the 2");
}

}  // namespace
}  // namespace simmesh
