#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/verify.h"

namespace simmesh {
namespace {

// A rule, a kernel or a gradient changes, and a case that held no longer does.
TEST(RecordedOps, AllHold) {
  VerifyRequest request;
  request.paths = {SIMMESH_SOURCE_DIR "/tests/cases/pytorch_ops"};
  VerifyResult result = verify(request);
  std::vector<std::string> failed;
  for (const FailedCase& one : result.failures) failed.push_back(one.id);
  EXPECT_THAT(failed, ::testing::IsEmpty());
  EXPECT_EQ(result.total.passed + result.total.failed, 2379);
}

}  // namespace
}  // namespace simmesh
