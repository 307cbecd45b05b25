#include "gate/compose/compose_report.h"

#include <gmock/gmock.h>

#include "core/check/json_value.h"
#include "tests/gate/compose/compose_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Composition with_fault() {
  return testing::composed(
      testing::compose_model("transformer"),
      {.ranks = {2, 3}, .only = {"fsdp", "tensor"}, .faults = {{{"fsdp"}, 3.0}}});
}

TEST(ComposeReport, HasALineForEachLayout) {
  std::string text = to_text(with_fault());
  EXPECT_TRUE(text.starts_with("model m.toml: A small model\none device: losses ")) << text;
  EXPECT_THAT(text, HasSubstr("pass     2 ranks  tensor=2 "));
  EXPECT_THAT(text, HasSubstr("FAIL     2 ranks  fsdp=2 "));
  EXPECT_THAT(text, HasSubstr("3 times that of one device"));
  EXPECT_THAT(text, HasSubstr("as the smaller layout fsdp=2\n"));
  EXPECT_THAT(text, HasSubstr("smallest layout that fails: fsdp=2, which stands for 2\n"));
  EXPECT_THAT(text, HasSubstr("left out, "));
  EXPECT_TRUE(text.ends_with("\n2 passed, 2 failed\n")) << text;
  EXPECT_EQ(to_text(with_fault(), {.quiet = true}), "2 passed, 2 failed\n");
}

TEST(ComposeReport, JsonHasTheSame) {
  JsonValue json = JsonValue::parse(to_json(with_fault()));
  EXPECT_EQ(json.find("passed")->text(), "2");
  const auto& layouts = *json.find("layouts")->get<JsonValue::List>();
  ASSERT_EQ(layouts.size(), 4u);
  EXPECT_EQ(layouts[1].find("layout")->text(), "\"fsdp=2\"");
  EXPECT_EQ(layouts[1].find("passed")->text(), "false");
  EXPECT_EQ(layouts[3].find("smallest")->text(), "\"fsdp=2\"");
  EXPECT_EQ(json.find("smallest")->text(), "[\"fsdp=2\"]");
}

TEST(ComposeReport, PageShowsTextAsText) {
  Composition found = with_fault();
  found.title = "<b>";
  std::string page = to_html(found);
  EXPECT_THAT(page, HasSubstr(R"("title":"\u003cb>")"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("fsdp=2, which stands for 2"));
}

}  // namespace
}  // namespace simmesh
