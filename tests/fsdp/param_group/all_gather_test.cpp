#include "fsdp/param_group/all_gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/work.h"
#include "fsdp/fully_shard.h"
#include "fsdp/state/state.h"
#include "testing/gtest.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

using ::testing::ElementsAre;

// A linear layer over all ranks: a weight of [3, 2] and a bias of [3].
nn::ModulePtr sharded_linear() {
  nn::ModulePtr model =
      nn::build({"", "linear", {{"in", std::int64_t(2)}, {"out", std::int64_t(3)}}, {}});
  for (auto& [name, parameter] : model->named_parameters()) {
    float value = name == "bias" ? 10.0f : 0.0f;
    for (float& element : parameter.mutable_values<float>()) element = ++value;
  }
  fully_shard(*model);
  return model;
}

// If this fails, parameters are put together from rows of others, or from padding.
SIMMESH_TEST(PendingGather, GivesEachParameterItsRows, {.mesh = {2}}) {
  nn::ModulePtr model = sharded_linear();
  FSDPParamGroup& group = *FSDPState::of(*model)->groups()[0];
  for (const auto& param : group.params()) param->init_dtypes({});
  PendingGather gather(group.params(), group.mesh().shard_group, {},
                       {.copy_in = Stream::current(), .gather = Stream::current()});
  bool is_first = mesh.get_rank() == 0;
  EXPECT_TRUE(gather.communicates());
  EXPECT_EQ(gather.output_numel(), 12);
  if (is_first) {
    EXPECT_THAT(gather.input().values<float>(), ElementsAre(1, 2, 3, 4, 11, 12));
  } else {
    EXPECT_THAT(gather.input().values<float>(), ElementsAre(5, 6, 0, 0, 13, 0));
  }
  Tensor buffer = gather.finish(group.params());
  EXPECT_THAT(buffer.values<float>(), ElementsAre(1, 2, 3, 4, 11, 12, 5, 6, 0, 0, 13, 0));
  for (const auto& param : group.params()) param->to_unsharded();
  EXPECT_EQ(to_string(model->parameter("weight").detach()), "float32[3, 2] {1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(to_string(model->parameter("bias").detach()), "float32[3] {11, 12, 13}");
  for (const auto& param : group.params()) param->to_sharded();
}

// If this fails, a user's own all-gather isn't asked, or gets other buffers.
SIMMESH_TEST(PendingGather, CallsWhatTheUserGave, {.mesh = {2}}) {
  nn::ModulePtr model = sharded_linear();
  FSDPParamGroup& group = *FSDPState::of(*model)->groups()[0];
  for (const auto& param : group.params()) param->init_dtypes({});
  std::int64_t calls = 0;
  AllGather custom{
      .call =
          [&](const AllGatherCall& call) {
            ++calls;
            EXPECT_EQ(call.input.numel(), 6);
            EXPECT_EQ(call.output.numel(), 12);
            CollectiveCall rows{.op = CollectiveOp::all_gather, .inputs = {&call.input, 1}};
            return start_collective(call.group, rows, {.into = call.output});
          },
      .allocate = [](const Shape& shape, DType dtype) { return empty(shape, dtype); }};
  PendingGather gather(group.params(), group.mesh().shard_group, custom,
                       {.copy_in = Stream::current(), .gather = Stream::current()});
  gather.drop();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace simmesh::fsdp
