#include "verify/falsify/falsified_page.h"

#include <gmock/gmock.h>

#include "verify/case_kind.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// A kind or a mark that the page leaves out would excuse changes unseen.
TEST(FalsifiedPage, HasEachKindAndItsMarks) {
  std::string page = falsified_page();
  for (const CaseKind* kind : CaseKind::all())
    EXPECT_THAT(page, HasSubstr("\n## " + std::string(kind->name()) + "\n"));
  EXPECT_THAT(page, HasSubstr("| `why` | for human readers |"));
  EXPECT_THAT(page, HasSubstr("| `rtol` | a tolerance may be wider |"));
}

}  // namespace
}  // namespace simmesh
