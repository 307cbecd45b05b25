#include "verify/verdict/case_place.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// If this fails, an editor doesn't find a case that a report names.
TEST(CasePlace, IsFileAndLine) { EXPECT_EQ(to_string(CasePlace{"a/c.jsonl", 12}), "a/c.jsonl:12"); }

}  // namespace
}  // namespace simmesh
