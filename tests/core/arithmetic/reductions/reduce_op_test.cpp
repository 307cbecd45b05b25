#include "core/arithmetic/reductions/reduce_op.h"

#include <gtest/gtest.h>

#include "core/check/error.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

using testing::expect_error;

// If this fails, an op in a recorded case or a printed placement would be read back as another one.
TEST(ReduceOp, EveryNameIsReadBack) {
  for (ReduceOp op : all_reduce_ops) EXPECT_EQ(reduce_op_from_string(to_string(op)), op);
}

// If this fails, a misspelt op would pass silently.
TEST(ReduceOp, UnknownNamesAreRefused) {
  for (std::string_view name : {"", "prod", "SUM", "sum "}) {
    expect_error([&] { reduce_op_from_string(name); }, ErrorKind::value_error, name);
  }
}

}  // namespace
}  // namespace simmesh
