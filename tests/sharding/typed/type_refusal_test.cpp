#include "sharding/typed/type_refusal.h"

#include <gmock/gmock.h>
#include <set>

namespace simmesh::typed {
namespace {

using ::testing::HasSubstr;

// If this fails, a code has the words of another one.
TEST(TypeRefusals, EachCodeHasItsOwnRow) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all_refusals().size(); ++i) {
    EXPECT_EQ(all_refusals()[i].code, RefusalCode(i));
    names.insert(all_refusals()[i].name);
  }
  EXPECT_EQ(names.size(), all_refusals().size());
}

// If this fails, a misuse of a call's arguments names an axis that has nothing to do with it.
TEST(TypeRefusals, NameTheAxisButForValueErrors) {
  TypeRefusal mixed(RefusalCode::invariant_mixed, "tp"), argument(RefusalCode::bad_src, "tp");
  EXPECT_EQ(mixed.kind(), ErrorKind::runtime_error);
  EXPECT_EQ(mixed.axis(), "tp");
  EXPECT_THAT(mixed.what(), HasSubstr("axis tp: cannot mix with other types"));
  EXPECT_EQ(argument.kind(), ErrorKind::value_error);
  EXPECT_EQ(argument.axis(), "");
}

}  // namespace
}  // namespace simmesh::typed
