#include "zero/stage3/leaf_modules.h"

#include <gmock/gmock.h>

#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "tests/expect_error.h"
#include "zero/stage3/module_state.h"

namespace simmesh::zero {
namespace {

using simmesh::testing::expect_error;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

nn::ModulePtr linear(std::int64_t in, std::int64_t out) {
  return std::make_shared<nn::Linear>(nn::Linear::Options{in, out, false});
}

// A residual block of two layers of 4 and 8 elements, and a layer of 100.
struct Model {
  nn::ModulePtr small = linear(2, 2), wide = linear(2, 4), large = linear(10, 10);
  nn::ModulePtr block = std::make_shared<nn::Residual>(
      std::vector<nn::NamedModule>{{"small", small}, {"wide", wide}});
  nn::Sequential root = nn::Sequential({{"block", block}, {"large", large}});
};

TEST(LeafModules, AreMarkedByClassNameAndSuffix) {
  Model model;
  EXPECT_THAT(set_z3_leaf_modules(model.root, {.classes = {"Residual"}}),
              ElementsAre(model.block.get()));
  EXPECT_TRUE(z3_leaf_module(*model.block));
  set_z3_leaf_module(*model.block, false);
  EXPECT_FALSE(z3_leaf_module(*model.block));
  EXPECT_THAT(set_z3_leaf_modules(model.root, {.names = {"block.wide"}}),
              ElementsAre(model.wide.get()));
  EXPECT_THAT(set_z3_leaf_modules(model.root, {.name_suffixes = {"ll"}}),
              ElementsAre(model.small.get()));
  EXPECT_THAT(set_z3_leaf_modules(model.root, {.classes = {"nn::Linear"}}),
              ElementsAre(model.small.get(), model.wide.get(), model.large.get()));
  expect_error([&] { set_z3_leaf_modules(model.root, {.classes = {"Line"}}); },
               ErrorKind::value_error, "expected a module of the class Line, got none");
}

// The block has 12 elements over two layers and itself, so 4 a module.
TEST(LeafModules, AreMarkedByGranularity) {
  Model model;
  EXPECT_THAT(set_z3_leaf_modules_by_granularity(model.root, 0), IsEmpty());
  EXPECT_THAT(set_z3_leaf_modules_by_granularity(model.root, 3), IsEmpty());
  EXPECT_THAT(set_z3_leaf_modules_by_granularity(model.root, 4), ElementsAre(model.block.get()));
}

// If this fails, a module that fully_shard has extended loses what that keeps.
TEST(LeafModules, RefuseWhatIsExtendedOtherwise) {
  struct Other final : nn::ModuleExtension {};
  Model model;
  model.large->set_extension(std::make_shared<Other>());
  expect_error([&] { set_z3_leaf_module(*model.large); }, ErrorKind::runtime_error,
               "expected a module without fully_shard");
}

}  // namespace
}  // namespace simmesh::zero
