#include "training/meta_init.h"

#include <gtest/gtest.h>

#include "fsdp/fully_shard.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/every_schedule.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

TrainingModel one_layer() {
  TrainingModel model;
  model.node = {"",
                "sequential",
                {},
                {{"fc", "linear", {{"in", std::int64_t(3)}, {"out", std::int64_t(5)}}, {}}}};
  model.parameters = {{"fc.weight", {5, 3}, {.rule = Rule::unit, .seed = 4}},
                      {"fc.bias", {5}, {.rule = Rule::unit, .seed = 5}, 2.0, 1.0}};
  return model;
}

// If this fails, a model that is built on the meta device has other values than one that is built
// whole, or a rank holds more of it than its shards.
TEST(MetaInit, GivesShardsTheirValues) {
  run_every_schedule(2, [](Rank& rank) {
    TrainingModel described = one_layer();
    nn::ModulePtr model = build_meta_model(described);
    fsdp::fully_shard(*model, {.mesh = init_device_mesh({2})});
    init_from_meta(described, *model);
    constexpr std::int64_t whole_bytes = (5 * 3 + 5) * 4;
    EXPECT_LT(rank.ledger().of(MemoryCategory::parameter).peak, whole_bytes);
    nn::ModulePtr whole = build_model(described);
    for (const auto& [name, parameter] : model->named_parameters()) {
      Tensor full = DTensor::of(parameter).full_tensor();
      EXPECT_TRUE(same_bits(full, find_slot(*whole, name).tensor().detach())) << name;
    }
  });
}

// If this fails, a parameter without values trains from whatever is in memory.
TEST(MetaInit, NeedsAValueForEachParameter) {
  World({.ranks = 1}).run([](Rank&) {
    TrainingModel described = one_layer();
    nn::ModulePtr model = build_meta_model(described);
    described.parameters.pop_back();
    simmesh::testing::expect_error([&] { init_from_meta(described, *model); },
                                   ErrorKind::value_error,
                                   "expected values for the parameter fc.bias, got none");
  });
}

}  // namespace
}  // namespace simmesh
