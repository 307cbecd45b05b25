#include "core/ops/registry/op_table.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

const OfOp<int> sums[] = {{"sum", 1}, {"mean", 2}};
const OfOp<int> products[] = {{"mm", 3}};

TEST(OpTable, FindsWhatItsFamiliesSayOfAnOp) {
  OpTable<int> table({sums, products});
  ASSERT_NE(table.find(*find_op("mean")), nullptr);
  EXPECT_EQ(*table.find(*find_op("mean")), 2);
  EXPECT_EQ(*table.find(*find_op("mm")), 3);
  EXPECT_EQ(table.find(*find_op("bmm")), nullptr);
}

// An op is known by its address: another op may have the name of one of the library's.
TEST(OpTable, KnowsNoOpOfAnotherOwner) {
  Op namesake = *find_op("mm");
  EXPECT_EQ(OpTable<int>({products}).find(namesake), nullptr);
}

TEST(OpTable, RefusesNamesThatAreNoOpOrComeTwice) {
  const OfOp<int> unknown[] = {{"mmm", 1}};
  EXPECT_THROW(OpTable<int>({unknown}), ContractViolation);
  EXPECT_THROW(OpTable<int>({products, sums, products}), ContractViolation);
}

}  // namespace
}  // namespace simmesh
