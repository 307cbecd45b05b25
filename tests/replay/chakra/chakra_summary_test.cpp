#include "replay/chakra/chakra_summary.h"

#include <gtest/gtest.h>

#include "replay/chakra/sha256.h"
#include "tests/replay/chakra/chakra_samples.h"

namespace simmesh::replay {
namespace {

TEST(ChakraSummary, CountsWhatATraceHolds) {
  ChakraSummary summary = chakra_summary(chakra_sample());
  EXPECT_EQ(summary.messages, 4);
  EXPECT_EQ(summary.version, "0.0.4");
  EXPECT_EQ(summary.metadata.size(), 2);
  EXPECT_EQ(summary.node_types,
            (std::map<ChakraNodeType, std::int64_t>{{ChakraNodeType::metadata, 1},
                                                    {ChakraNodeType::comp, 1},
                                                    {ChakraNodeType::comm_coll, 1}}));
  EXPECT_EQ(summary.ctrl_deps, 1);
  EXPECT_EQ(summary.data_deps, 2);
  EXPECT_EQ(summary.attr_names.at("is_cpu_op"), 2);
  EXPECT_EQ(summary.attr_names.size(), 10);
  EXPECT_EQ(summary.dur_sum_us, 13);
  EXPECT_EQ(summary.cpu_ops, 1);
  EXPECT_EQ(summary.comm_nodes, 1);
  EXPECT_EQ(summary.order, (std::vector<std::uint64_t>{7, 300, 1}));
  EXPECT_EQ(summary.order_hash, sha256("7,300,1"));
}

}  // namespace
}  // namespace simmesh::replay
