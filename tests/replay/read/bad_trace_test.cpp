#include "replay/read/bad_trace.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

TEST(BadTrace, IsAnErrorThatNamesItsRule) {
  try {
    throw BadTrace("top_level", "replay/read", "rank-0.json: expected a schema, got none");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value_error);
    EXPECT_STREQ(error.what(), "[replay/read] rank-0.json: expected a schema, got none");
    EXPECT_EQ(dynamic_cast<const BadTrace&>(error).rule(), "top_level");
  }
}

}  // namespace
}  // namespace simmesh::replay
