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

// An op is lost if it has the place to which another one's hash leads.
TEST(OpTable, FindsEveryOpOfTheLibrary) {
  std::vector<OfOp<std::size_t>> lengths;
  for (const Op* op : all_ops()) lengths.push_back({op->name, op->name.size()});
  OpTable<std::size_t> table({lengths});
  for (const Op* op : all_ops()) {
    ASSERT_NE(table.find(*op), nullptr) << op->name;
    EXPECT_EQ(*table.find(*op), op->name.size()) << op->name;
  }
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
