#include "verify/verify_table.h"

#include <algorithm>
#include <gmock/gmock.h>

namespace simmesh {
namespace {

TEST(VerifyTable, IsSortedByKind) {
  gsl::span<const KnownKind> kinds = known_kinds();
  EXPECT_TRUE(
      std::is_sorted(kinds.begin(), kinds.end(),
                     [](const KnownKind& a, const KnownKind& b) { return a.kind < b.kind; }));
  for (const KnownKind& known : kinds) EXPECT_EQ(find_kind(known.kind), &known);
}

TEST(VerifyTable, DoesNotKnowOtherKinds) {
  EXPECT_EQ(find_kind("mash"), nullptr);
  EXPECT_EQ(find_kind(""), nullptr);
}

}  // namespace
}  // namespace simmesh
