#include "sharding/optim/box_exchange.h"

#include "core/tensor/formula.h"
#include "sharding/placement/mesh_groups.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

// If this fails, a move goes to another rank, two moves of one pair change places, or one dtype's
// elements arrive in another's tensor.
SIMMESH_TEST(BoxExchange, MovesArriveInOrder, {.mesh = {3}}) {
  MeshGroups groups(mesh);
  std::int64_t own = groups.whole().rank();
  auto part = [](std::int64_t from, std::int64_t to, DType dtype) {
    return formula({2, 3},
                   {.rule = Rule::wide, .seed = std::uint64_t(10 * from + to), .dtype = dtype});
  };
  BoxExchange exchange(groups.whole());
  std::vector<std::pair<Tensor, Tensor>> expected;
  for (int round = 0; round < 2; ++round)
    for (DType dtype : {DType::float32, DType::bfloat16})
      for (std::int64_t from = 0; from < 3; ++from)
        for (std::int64_t to = 0; to < 3; ++to) {
          Tensor source = part(from + round, to, dtype).narrow({1, 0, from});
          Tensor target = to == own ? zeros({2, 4}, dtype).narrow({1, 1, from}) : Tensor();
          exchange.move({from, to}, dtype,
                        {.source = from == own ? source : Tensor(), .target = target});
          if (to == own) expected.emplace_back(target, source);
        }
  exchange.run();
  for (const auto& [target, source] : expected) EXPECT_SAME_BITS(target, source);
  exchange.run();
}

}  // namespace
}  // namespace simmesh
