#include "verify/case_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/case_kind.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// If this fails, the page of fields leaves out a kind, or what all kinds share.
TEST(CaseFields, ThePageHasASectionForEachKind) {
  std::string page = case_fields_page();
  EXPECT_THAT(page, HasSubstr("## Every kind\n"));
  std::size_t at = 0;
  for (const CaseKind* kind : CaseKind::all()) {
    std::size_t found = page.find("\n## " + std::string(kind->name()) + "\n", at);
    ASSERT_NE(found, page.npos) << kind->name();
    at = found;
    EXPECT_NE(page.find("Compared: " + std::string(kind->summary()) + ".", at), page.npos);
  }
}

}  // namespace
}  // namespace simmesh
