#include "sharding/parallel/hierarchical_exchange.h"

#include "collectives/collectives.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

// If this fails, a message of the exchange in two steps reaches another rank or place in the list
// than in one.
struct HierarchicalWorlds : ::testing::TestWithParam<std::int64_t> {};
SIMMESH_TEST_P(HierarchicalWorlds, IsAnAllToAll, {.mesh = {GetParam()}, .schedules = 4}) {
  ProcessGroup group = process_group(mesh);
  std::vector<Tensor> pieces;
  for (std::int64_t to = 0; to < group.size(); ++to)
    pieces.push_back(formula({(group.rank() * 3 + to * 5) % 4, 2},
                             {.rule = Rule::wide, .seed = std::uint64_t(group.rank() * 10 + to)}));
  std::vector<Tensor> wanted = all_to_all_list(pieces, group);
  for (std::int64_t size = 1; size <= group.size(); ++size) {
    if (group.size() % size != 0) continue;
    std::vector<Tensor> came = HierarchicalExchange(group, size).run(pieces);
    for (std::size_t from = 0; from < wanted.size(); ++from)
      EXPECT_SAME_BITS(came.at(from), wanted[from]);
  }
  testing::expect_error([&] { HierarchicalExchange(group, group.size() + 1); },
                        ErrorKind::value_error, "expected nodes that divide");
}
INSTANTIATE_TEST_SUITE_P(Ranks, HierarchicalWorlds, ::testing::Values(1, 2, 4, 6));

}  // namespace
}  // namespace simmesh
