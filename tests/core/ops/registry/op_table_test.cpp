#include "core/ops/registry/op_table.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

const OfOp<int> sums[] = {{"sum", 1}, {"mean", 2}};
const OfOp<int> products[] = {{"mm", 3}};

TEST(OpTable, FindsWhatItsFamiliesSayOfAnOp) {
  OpTable<int> table;
  table.add(sums);
  table.add(products);
  ASSERT_NE(table.find(*find_op("mean")), nullptr);
  EXPECT_EQ(*table.find(*find_op("mean")), 2);
  EXPECT_EQ(*table.find(*find_op("mm")), 3);
  EXPECT_EQ(table.find(*find_op("bmm")), nullptr);
}

// An op is lost if it has the place to which another one's hash leads.
TEST(OpTable, FindsEveryOpOfTheLibrary) {
  std::vector<OfOp<std::size_t>> lengths;
  for (const Op* op : all_ops()) lengths.push_back({op->name, op->name.size()});
  OpTable<std::size_t> table;
  table.add(lengths);
  for (const Op* op : all_ops()) {
    ASSERT_NE(table.find(*op), nullptr) << op->name;
    EXPECT_EQ(*table.find(*op), op->name.size()) << op->name;
  }
}

// An op is known by its address: another op may have the name of one of the library's.
TEST(OpTable, KnowsNoOpOfAnotherOwner) {
  Op namesake = *find_op("mm");
  OpTable<int> table;
  table.add(products);
  EXPECT_EQ(table.find(namesake), nullptr);
}

TEST(OpTable, RefusesNamesThatAreNoOpOrComeTwice) {
  const OfOp<int> unknown[] = {{"mmm", 1}};
  OpTable<int> table;
  EXPECT_THROW(table.add(unknown), ContractViolation);
  table.add(products);
  table.add(sums);
  EXPECT_THROW(table.add(products), ContractViolation);
}

}  // namespace
}  // namespace simmesh
