#include "replay/chakra/chakra_trace.h"

#include <gtest/gtest.h>

#include "tests/replay/chakra/chakra_samples.h"

namespace simmesh::replay {
namespace {

TEST(ChakraTrace, NamesTypesAsTheSchemaDoes) {
  EXPECT_EQ(to_string(ChakraNodeType::comm_coll), "COMM_COLL_NODE");
  EXPECT_EQ(to_string(ChakraNodeType::invalid), "INVALID_NODE");
  EXPECT_EQ(to_string(ChakraNodeType(8)), "8");
}

TEST(ChakraTrace, FindsAttributes) {
  ChakraTrace trace = chakra_sample();
  EXPECT_EQ(*trace.nodes[1].find("half"), ChakraValue(0.5));
  EXPECT_EQ(trace.nodes[1].find("halves"), nullptr);
  EXPECT_TRUE(trace.nodes[1].is_cpu_op());
  EXPECT_FALSE(trace.nodes[0].is_cpu_op());
  EXPECT_FALSE(trace.nodes[2].is_cpu_op());
  EXPECT_TRUE(trace.nodes[0].is_comm());
  EXPECT_FALSE(trace.nodes[1].is_comm());
}

}  // namespace
}  // namespace simmesh::replay
