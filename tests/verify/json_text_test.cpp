#include "verify/json_text.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/check/check.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;

TEST(JsonText, FindsTheTopLevelKeys) {
  JsonScan scan = scan_json(R"({"kind":"mesh","mesh":{"shape":[2]},"id":"a"})");
  EXPECT_TRUE(scan.ok);
  EXPECT_TRUE(scan.is_object);
  EXPECT_THAT(scan.keys, ElementsAre("kind", "mesh", "id"));
  EXPECT_FALSE(scan_json(R"([{"kind":"mesh"}])").is_object);
  EXPECT_THAT(scan_json(R"({"kind":"mesh","id)").keys, ElementsAre("kind"));
}

// The message must name the mistake, with the place: a user sees nothing else.
TEST(JsonText, SaysWhatIsWrong) {
  auto fault = [](std::string_view text) {
    JsonScan scan = scan_json(text);
    return scan.ok ? "ok" : scan.fault;
  };
  EXPECT_EQ(fault(""), "no text");
  EXPECT_EQ(fault(" \n\t"), "no text");
  EXPECT_EQ(fault("{\"a\":"), "text that ends too early");
  EXPECT_EQ(fault("{\"a\":tru}"), "something that is not JSON");
  EXPECT_EQ(fault("[1] [2]"), "something that is not JSON");
  EXPECT_EQ(fault("[1e999]"), "a number that no double holds");
  EXPECT_EQ(fault(R"({"a":1,"b":{"a":2},"a":3})"), "the key 'a' twice in one object");
  EXPECT_EQ(fault(std::string(64, '[') + std::string(64, ']')), "ok");
  EXPECT_EQ(fault(std::string(65, '[') + std::string(65, ']')), "nesting deeper than 64");
  EXPECT_EQ(fault(std::string(1'000'000, '[')), "nesting deeper than 64");
  EXPECT_EQ(scan_json("{\"a\":tru}").fault_offset, 8u);
}

TEST(JsonText, ParsesWhatItAccepted) {
  EXPECT_EQ(parse_json("[1, 2]"), nlohmann::json({1, 2}));
  EXPECT_THROW(parse_json("[1, 2"), ContractViolation);
}

// Values in messages must stay short and printable, whatever a file holds.
TEST(JsonText, ShowsValuesBriefly) {
  EXPECT_EQ(shown({1, 2}), "[1,2]");
  EXPECT_EQ(shown("\x01\xc3\xa4"), R"("\u0001\u00e4")");
  EXPECT_EQ(shown(std::string(1000, 'x')).size(), 80u);
  EXPECT_EQ(shown(nlohmann::json(std::vector<int>(2000))), "a list of 2000 entries");
}

}  // namespace
}  // namespace simmesh
