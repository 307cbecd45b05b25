#include "zero/stage3/module_state.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"
#include "tests/zero/zero_runs.h"

namespace simmesh::zero {
namespace {

TEST(ModuleState, IsMadeOnceAndForwardsWhatHappens) {
  nn::ModulePtr model = three_linears();
  EXPECT_EQ(ModuleState::find(*model), nullptr);
  ModuleState& state = ModuleState::of(*model);
  EXPECT_EQ(&ModuleState::of(*model), &state);
  EXPECT_EQ(ModuleState::find(*model), &state);
  int failures = 0;
  state.forward_failed(*model);
  state.on_failure = [&](nn::Module& module) {
    EXPECT_EQ(&module, model.get());
    ++failures;
  };
  state.forward_failed(*model);
  EXPECT_EQ(failures, 1);
}

struct AnotherForm final : nn::ModuleExtension {};

// If this fails, a module is sharded by two systems that don't know of each other.
TEST(ModuleState, RefusesAModuleOfAnotherFormOfParallelism) {
  nn::ModulePtr model = three_linears();
  model->set_extension(std::make_shared<AnotherForm>());
  EXPECT_EQ(ModuleState::find(*model), nullptr);
  simmesh::testing::expect_error([&] { ModuleState::of(*model); }, ErrorKind::runtime_error,
                                 "expected a module without fully_shard");
}

}  // namespace
}  // namespace simmesh::zero
