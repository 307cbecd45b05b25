#include "fsdp/managed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fsdp/fully_shard.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

using ::testing::ElementsAre;

// The dotted names of the slots, aliases after a comma.
std::vector<std::string> names_of(nn::Module& model, const std::vector<ManagedParam>& params) {
  auto name_of = [&](const ParameterSlots::Slot& slot) {
    for (auto& [path, module] : model.named_modules())
      if (module == slot.module) return path.empty() ? slot.name : path + "." + slot.name;
    return std::string("?");
  };
  std::vector<std::string> names;
  for (const ManagedParam& param : params) {
    names.push_back(name_of(param.slots.owner));
    for (const auto& alias : param.slots.aliases) names.back() += "," + name_of(alias);
  }
  return names;
}

// If this fails, flat buffers have another order than PyTorch's, or a tied parameter comes twice.
TEST(Managed, ParametersComeInPostOrderOnceEach) {
  nn::ModulePtr model = build_model(small_model(1, 4));
  nn::Module &first = model->find("in"), &layer = model->find("layers.0.up");
  layer.slots()[1].tensor = first.slots()[1].tensor;
  EXPECT_THAT(names_of(*model, managed_params({model.get()}, {})),
              ElementsAre("in.weight", "in.bias,layers.0.up.bias", "layers.0.up.weight",
                          "layers.0.down.weight", "layers.0.down.bias", "out.weight", "out.bias"));
  EXPECT_THAT(names_of(*model, managed_params({&layer, &first}, {first.slots()[1].tensor})),
              ElementsAre("layers.0.up.weight", "in.weight"));
}

// If this fails, a parameter is sharded by two groups.
SIMMESH_TEST(Managed, ModulesThatAreShardedAlreadyAreLeftOut, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 4));
  fully_shard(model->find("layers.0"));
  EXPECT_THAT(names_of(*model, managed_params({model.get()}, {})),
              ElementsAre("in.weight", "in.bias", "out.weight", "out.bias"));
}

}  // namespace
}  // namespace simmesh::fsdp
