#include "fsdp/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/sgd.h"
#include "fsdp/named_params.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {
namespace {

// A right model has one owner of each byte at all times: before the first forward, between forward
// and backward, and after steps.
TEST(Owners, AreOneInARightModel) {
  for (std::size_t ranks : {1, 2, 3}) {
    for (const ReshardAfterForward& reshard : {ReshardAfterForward(), ReshardAfterForward(true)}) {
      every_schedule(ranks, [&](Rank&) {
        nn::ModulePtr model = build_model(small_model(2, 5));
        shard_layers(*model, {.reshard_after_forward = reshard});
        optim::Sgd optimizer(model->parameters(), optim::SgdOptions{.lr = 0.5});
        check_owners(*model, optimizer.parameters());
        for (int step = 0; step < 2; ++step) {
          Tensor loss = sum((*model)(formula({2, 5}, {.rule = Rule::unit, .seed = 3})));
          check_owners(*model, optimizer.parameters());
          backward(loss);
          optimizer.step();
          optimizer.zero_grad();
          check_owners(*model, optimizer.parameters());
        }
      });
    }
  }
}

std::string failure_after(const std::function<void(nn::Module&)>& change) {
  return failure_of(2, [&](Rank&) {
    nn::ModulePtr model = build_model(small_model(2, 4));
    fully_shard(*model);
    change(*model);
    check_owners(*model);
  });
}

TEST(Owners, AreNamedWhereThereAreTwo) {
  auto into_slot = [](nn::Module& model, const char* from) {
    nn::Module& up = model.find("layers.0.up");
    DTensor other = DTensor::of(model.find(from).parameter("weight"));
    up.set_parameter("weight", DTensor(other.spec(), other.local()).as_tensor());
  };
  EXPECT_THAT(failure_after([&](nn::Module& model) { into_slot(model, "layers.1.up"); }),
              ::testing::HasSubstr("rank 0: layers.0.up.weight: expected one owner of the shard's "
                                   "bytes, got another tensor in the slot weight of its module"));
  EXPECT_THAT(failure_after([&](nn::Module& model) {
                into_slot(model, "layers.1.up");
                for (const NamedParam& named : named_params(model))
                  if (named.name == "layers.0.up.weight") named.param->reset_sharded_param();
              }),
              ::testing::HasSubstr("layers.1.up.weight: expected one owner of the shard's bytes, "
                                   "got the bytes of layers.0.up.weight too"));
}

// An optimiser that was made before the model was sharded changes whole parameters that nobody
// reads any more.
TEST(Owners, AreNotThoseOfAnEarlierOptimizer) {
  EXPECT_THAT(failure_of(2,
                         [](Rank&) {
                           nn::ModulePtr model = build_model(small_model(1, 4));
                           optim::Sgd optimizer(model->parameters(), optim::SgdOptions{.lr = 0.5});
                           fully_shard(*model);
                           check_owners(*model, optimizer.parameters());
                         }),
              ::testing::HasSubstr("an optimiser that changes other bytes than gathers read"));
}

}  // namespace
}  // namespace simmesh::fsdp
