#include "replay/job/trace_resource.h"

#include <gtest/gtest.h>

namespace simmesh::replay {
namespace {

std::optional<TraceResource> resource_of(const std::string& file) {
  TextSource source(file, "12345678");
  return read_resource(source);
}

TEST(TraceResource, IsToldByItsFolderAndName) {
  auto tensor = resource_of("job/rank-0_resources/nid_99_tid_1.dat");
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->trace, "rank-0");
  EXPECT_EQ(tensor->node, 99);
  EXPECT_EQ(tensor->tensor, 1);
  EXPECT_EQ(tensor->bytes, 8);
  auto kernel = resource_of("job.tar.gz:pt2_resources/triton_fused.py");
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->trace, "pt2");
  EXPECT_EQ(kernel->node, std::nullopt);
  for (const char* file : {"job/rank-0.json", "rank-0.json", "job/nid_99_tid_1.dat"})
    EXPECT_FALSE(resource_of(file).has_value()) << file;
  for (const char* name : {"nid_x_tid_1.dat", "nid_9.dat", "nid_9_tid_1.dat2", "nid_9_tid_.dat"})
    EXPECT_EQ(resource_of(std::string("a_resources/") + name)->node, std::nullopt) << name;
}

TEST(TraceResource, HasTheNameOfItsTrace) {
  EXPECT_EQ(resources_name("job/rank-0.json.gz"), "rank-0");
  EXPECT_EQ(resources_name("job.tar.gz:a/pt2_et.json"), "pt2_et");
  EXPECT_EQ(resources_name("rank-0"), "rank-0");
}

}  // namespace
}  // namespace simmesh::replay
