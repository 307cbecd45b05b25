#include "tests/verify/changed_case.h"

namespace simmesh {
namespace {

using nlohmann::json;

json aoa_case(bool is_refusal) {
  return testing::first_with("../paddle/aoa.jsonl", [=](const json& each) {
    return each.contains("error") == is_refusal && !each["statements"].empty();
  });
}

TEST(VerifyPaddleAoa, NamesWhatDiffers) {
  json value = aoa_case(false);
  std::string name = value["after"].items().begin().key();
  testing::expect_passes(value);
  testing::expect_fails(value, ("/after/" + name + "/hash").c_str(), "0000000000000000",
                        name + ": hash: expected");
  testing::expect_fails(value, ("/after/" + name + "/shape/0").c_str(), 77,
                        name + ": shape: expected");
  testing::expect_fails(value, "/after/other", value["after"][name], "no target other");
  testing::expect_fails(value, "/after", json::object(), "number of targets: expected");
  testing::expect_fails(value, "/statements/0", "none -> x", "refused: ");
}

TEST(VerifyPaddleAoa, NamesARefusalThatIsMissing) {
  json value = aoa_case(true);
  testing::expect_passes(value);
  bool is_key_error = value["error"]["error"] == "KeyError";
  testing::expect_fails(value, "/error/error", is_key_error ? "ValueError" : "KeyError",
                        "is a KeyError: expected");
  json allowed = aoa_case(false);
  allowed.erase("after");
  testing::expect_fails(allowed, "/error", value["error"], "expected a refusal: ");
}

}  // namespace
}  // namespace simmesh
