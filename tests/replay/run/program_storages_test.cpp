#include "replay/run/program_storages.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/replay/run/hand_job.h"

namespace simmesh::replay {

namespace {

std::vector<ProgramStorage> storages_of(samples::HandJob& job) {
  return job.program().ranks[0].storages;
}

// Would fail if memory that was freed and taken again counted as the first object.
TEST(ProgramStorages, OutputsOfAnotherSizeBeginAGeneration) {
  samples::HandJob job(1);
  job.op(0, "a", {}, {{.storage = 1, .elements = 4}});
  job.op(0, "b", {}, {{.storage = 1, .elements = 4}});  // the same again: no sign of another
  job.op(0, "c", {}, {{.storage = 1, .elements = 2, .type = "long int", .item_bytes = 8}});
  job.op(0, "d", {}, {{.storage = 1, .elements = 9, .type = "long int", .item_bytes = 8}});
  auto storages = storages_of(job);
  ASSERT_EQ(storages.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(storages[i].generation, i);
  EXPECT_EQ(storages[0].bytes, 16);
  EXPECT_EQ(storages[1].bytes, 16);
  EXPECT_EQ(storages[2].bytes, 72);
  EXPECT_EQ(storages[0].last_step, 1u);
}

// Would fail if views, and operations in place, counted as new objects.
TEST(ProgramStorages, ViewsStayInTheirGeneration) {
  samples::HandJob job(1);
  job.op(0, "view as bytes", {{.storage = 1, .elements = 4}},
         {{.storage = 1, .elements = 16, .type = "unsigned char", .item_bytes = 1}});
  job.op(0, "the rest", {{.storage = 1, .elements = 4, .offset = 4}}, {});
  auto storages = storages_of(job);
  ASSERT_EQ(storages.size(), 1u);
  EXPECT_EQ(storages[0].bytes, 32);
}

// Would fail if one id on two devices were one storage, or the host's memory were the device's.
TEST(ProgramStorages, DevicesAreApart) {
  samples::HandJob job(1);
  job.op(0, "to", {{.storage = 1, .elements = 4, .device = "cpu"}},
         {{.storage = 1, .elements = 4, .device = "cuda:0"}});
  auto storages = storages_of(job);
  ASSERT_EQ(storages.size(), 2u);
  EXPECT_FALSE(storages[0].is_on_device);
  EXPECT_TRUE(storages[0].is_leaf);
  EXPECT_TRUE(storages[1].is_on_device);
  EXPECT_FALSE(storages[1].is_leaf);
}

// Would fail if a storage were freed while a communication that is under way uses it.
TEST(ProgramStorages, AreUsedUntilTheWait) {
  samples::HandJob job(1);
  std::vector<samples::HandTensor> waited = {{.storage = 1, .elements = 4}};
  std::vector<samples::HandTensor> never = {{.storage = 2, .elements = 4}};
  job.comm(0, {.name = "allreduce", .request = 1, .inputs = waited});
  job.comm(0, {.name = "allreduce", .request = 2, .inputs = never, .is_asynchronous = true});
  job.op(0, "relu", {{.storage = 3, .elements = 4}}, {});
  job.comm(0, {.name = "wait", .request = 1, .group = {}});
  job.op(0, "relu", {{.storage = 3, .elements = 4}}, {});
  auto storages = storages_of(job);
  ASSERT_EQ(storages.size(), 3u);
  EXPECT_EQ(storages[0].last_step, 3u);
  EXPECT_EQ(storages[1].last_step, 5u);
  EXPECT_EQ(storages[2].last_step, 4u);
  EXPECT_TRUE(storages[0].communicates);
  EXPECT_FALSE(storages[2].communicates);
}

// Would fail if nonsense in a trace became nonsense in memory.
TEST(ProgramStorages, RefuseSizesThatNoTensorHas) {
  for (auto [elements, offset, item] : {std::array<std::int64_t, 3>{-1, 0, 4},
                                        {4, -1, 4},
                                        {4, 0, -4},
                                        {std::int64_t(1) << 60, 0, 4},
                                        {4, 0, 1 << 20}}) {
    samples::HandJob job(1);
    job.op(0, "relu", {{.storage = 1, .elements = elements, .item_bytes = item, .offset = offset}},
           {});
    simmesh::testing::expect_error([&] { job.program(); }, ErrorKind::value_error,
                                   "rank-0.json: node 2: expected a tensor");
  }
}

}  // namespace

}  // namespace simmesh::replay
