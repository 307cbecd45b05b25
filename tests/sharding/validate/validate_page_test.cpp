#include "sharding/validate/validate_page.h"

#include <gmock/gmock.h>

namespace simmesh {
namespace {

using ::testing::HasSubstr;

TEST(ValidatePage, HasALineForEachOp) {
  ValidateRequest request{.ops = {"add"}};
  std::string json = to_json(validate_page(validate(request), request, "simmesh validate")).text();
  EXPECT_THAT(json, HasSubstr(R"(["pass","add",)"));
  EXPECT_THAT(json, HasSubstr(" rules, 0 wrong, "));
  EXPECT_THAT(json, HasSubstr(R"("passed":true)"));
}

}  // namespace
}  // namespace simmesh
