#include "checkpoint/save_load/master_weights.h"

#include <gmock/gmock.h>

#include "core/tensor/convert.h"
#include "tests/checkpoint/sample_state.h"
#include "tests/checkpoint/worlds.h"
#include "tests/expect_error.h"

namespace simmesh::checkpoint {
namespace {

using simmesh::testing::error_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run_world;
using testing::sample_whole;

Catalog catalog_with(const std::vector<std::string>& names) {
  Catalog catalog = {"simmesh", {}, {}};
  for (const std::string& name : names)
    catalog.tensors.push_back({name, StoredDType::f32, {2}, {}});
  return catalog;
}

TEST(MasterWeights, OneStandsForTheOtherWhereOnlyOneIsThere) {
  StateDict state;
  state.add("model.a", zeros({2}, DType::bfloat16));
  state.add("master.b", FlatShard{zeros({1}, DType::float32), {2}, {0, 1}});
  auto statements = [&](const std::set<std::string>& wanted,
                        const std::vector<std::string>& stored) {
    return master_statements(state, wanted, catalog_with(stored));
  };
  EXPECT_THAT(statements({"model.a", "master.b", "other"}, {"master.a", "model.b", "master.c"}),
              ElementsAre("model.b -> master.b, dtype=\"float32\"",
                          "master.a -> model.a, dtype=\"bfloat16\""));
  EXPECT_THAT(statements({"model.a"}, {"model.a", "master.a"}), ElementsAre());
  EXPECT_THAT(statements({"model.a", "master.a"}, {"master.a"}), ElementsAre());
  EXPECT_THAT(statements({"model.a"}, {"model.b"}), ElementsAre());
  EXPECT_THAT(statements({"model.of_others"}, {"master.of_others"}),
              ElementsAre("master.of_others -> model.of_others"));
}

Location saved_tensor(const char* name, const Tensor& whole) {
  Location location = {std::make_shared<MemoryStore>(), "state"};
  run_world(2, [&] {
    DeviceMesh mesh = init_device_mesh({2});
    StateDict state;
    state.add(name,
              distribute_tensor(whole, mesh, {Shard(0)}, {.from_first_rank = false}).as_tensor());
    save(state, location);
  });
  return location;
}

// Parameters are rebuilt from masters in any layout, rounded once or widened.
TEST(MasterWeights, RebuildsParametersInAnyLayout) {
  Tensor master = sample_whole({5, 3}, DType::float32, 4);
  Tensor half = converted(master, DType::bfloat16);
  Location of_master = saved_tensor("master.w", master), of_model = saved_tensor("model.w", half);
  for (std::int64_t ranks : {1, 2, 3})
    run_world(ranks, [&] {
      DeviceMesh mesh = init_device_mesh({ranks});
      DTensor parameter = distribute_tensor(zeros({5, 3}, DType::bfloat16), mesh, {Shard(1)},
                                            {.from_first_rank = false});
      StateDict model;
      model.add("model.w", parameter.as_tensor());
      LoadReport report = load(model, of_master);
      EXPECT_THAT(report.unexpected, ElementsAre());
      EXPECT_TRUE(same_bits(parameter.full_tensor(), half));

      std::int64_t rank = this_rank().id();
      FlatRange range = {15 * rank / ranks, 15 * (rank + 1) / ranks};
      Tensor values = zeros({range.numel()}, DType::float32);
      StateDict masters;
      masters.add("master.w", FlatShard{values, {5, 3}, range});
      load(masters, of_model);
      EXPECT_TRUE(same_bits(values, converted(half, DType::float32)
                                        .view(Shape{15})
                                        .narrow({0, range.begin, range.numel()})
                                        .contiguous()));
    });
}

// With a mapping of the user's, nothing is rebuilt.
TEST(MasterWeights, LeavesMappingsAlone) {
  Location location = saved_tensor("master.w", sample_whole({4}, DType::float32, 4));
  run_world(1, [&] {
    StateDict state;
    state.add("model.w", zeros({4}, DType::bfloat16));
    EXPECT_THAT(error_text([&] { load(state, location, {.mapping = {"master.w -> other"}}); }),
                HasSubstr("not in the checkpoint: model.w"));
  });
}

}  // namespace
}  // namespace simmesh::checkpoint
