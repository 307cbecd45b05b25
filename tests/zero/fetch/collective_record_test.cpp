#include "zero/fetch/collective_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "zero/fetch/event.h"

namespace simmesh::zero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// If this fails, a recorded schedule of DeepSpeed is compared with other collectives than those of
// the engine.
SIMMESH_TEST(CollectiveRecord, NamesTheRanksOfASmallerGroupOnly, {.mesh = {4}}) {
  ProcessGroup all = ProcessGroup::world();
  std::int64_t partner = mesh.get_rank() ^ 1;
  ProcessGroup pair = ProcessGroup::of(
      RankList::of({std::min(mesh.get_rank(), partner), std::max(mesh.get_rank(), partner)}),
      "pair");
  std::vector<Event> seen;
  ObserverScope watching([&](const Event& event) { seen.push_back(event); });
  record_collective("all_gather_into_tensor", formula({2, 3}, {}), all, all);
  record_collective("reduce_scatter_tensor", formula({5}, {.dtype = DType::bfloat16}), pair, all);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].kind, EventKind::collective);
  EXPECT_EQ(seen[0].name, "all_gather_into_tensor");
  EXPECT_EQ(seen[0].numel, 6);
  EXPECT_THAT(seen[0].ranks, IsEmpty());
  EXPECT_EQ(seen[1].dtype, "bfloat16");
  EXPECT_THAT(seen[1].ranks, ElementsAre(pair.members()[0], pair.members()[1]));
}

}  // namespace
}  // namespace simmesh::zero
