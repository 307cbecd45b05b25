#include "fsdp/param/param_name.h"

#include <gtest/gtest.h>

#include "fsdp/fully_shard.h"
#include "fsdp/state/state.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

// If this fails, an event or an error names another parameter than it is about.
SIMMESH_TEST(ParamName, IsThePathOfTheSlotThatOwnsIt, {.mesh = {2}}) {
  nn::ModulePtr model = build_model(small_model(1, 4));
  nn::Module& layer = model->find("layers.0");
  fully_shard(layer);
  const FSDPParam& first = *FSDPState::of(layer)->groups()[0]->params()[0];
  EXPECT_EQ(name_of(first, *model), "layers.0.up.weight");
  EXPECT_EQ(name_of(first, layer.find("up")), "weight");
  EXPECT_EQ(path_of(layer, *model), "layers.0");
  EXPECT_EQ(path_of(*model, *model), "");
  EXPECT_EQ(path_of(*model, layer), "?");
}

}  // namespace
}  // namespace simmesh::fsdp
