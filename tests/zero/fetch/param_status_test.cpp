#include "zero/fetch/param_status.h"

#include "tests/expect_error.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;

// If this fails, a parameter can be gathered twice at a time, or freed while a gather writes it.
TEST(ParamStatuses, GoesFromOneStatusToTheNext) {
  ParamStatuses statuses(1);
  expect_error([&] { statuses.finish_gather(0); }, ErrorKind::runtime_error, "to be INFLIGHT");
  statuses.begin_gather(0);
  expect_error([&] { statuses.begin_gather(0); }, ErrorKind::runtime_error,
               "to be NOT_AVAILABLE when it is gathered, got INFLIGHT");
  expect_error([&] { statuses.release(0); }, ErrorKind::assertion_error, "not to be INFLIGHT");
  statuses.finish_gather(0);
  EXPECT_EQ(statuses.of(0), ParamStatus::available);
  statuses.release(0);
  EXPECT_EQ(statuses.of(0), ParamStatus::not_available);
  expect_error([&] { statuses.release(0); }, ErrorKind::runtime_error, "to be AVAILABLE");
}

// If this fails, a parameter is freed under a module that uses it.
TEST(ParamStatuses, AParameterInUseIsNotFreed) {
  ParamStatuses statuses(1);
  statuses.begin_gather(0);
  statuses.finish_gather(0);
  statuses.use(0, 7, Pass::forward);
  statuses.use(0, 7, Pass::forward);
  statuses.use(0, 7, Pass::backward);
  statuses.unuse(0, 7, Pass::forward);
  expect_error([&] { statuses.release(0); }, ErrorKind::runtime_error, "module 7 that uses it");
  statuses.unuse(0, 7, Pass::backward);
  EXPECT_FALSE(statuses.is_used(0));
  statuses.use(0, 3, Pass::forward);
  statuses.forget_users(0);
  statuses.release(0);
}

}  // namespace
}  // namespace simmesh::zero
