#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/sgd.h"
#include "core/tensor/chunk.h"
#include "core/tensor/convert.h"
#include "fsdp/named_params.h"
#include "fsdp/owners.h"
#include "fsdp/state_dict/state_dict.h"
#include "sharding/dtensor/dtensor.h"
#include "tests/fsdp/sharded_worlds.h"

// Faults of shards and gradients that users of the real system met: each is put in by the test, and
// is reported; the right program beside it isn't.
namespace simmesh::fsdp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two layers of 5 x 5 that share their weight. Two ranks have 3 and 2 of its rows.
TrainingModel tied_layers() {
  TrainingModel model;
  model.node = {"", "sequential", {}, {}};
  for (const char* name : {"first", "last"})
    model.node.children.push_back(
        {name, "linear", {{"in", std::int64_t(5)}, {"out", std::int64_t(5)}, {"bias", false}}, {}});
  model.tied = {{"last.weight", "first.weight"}};
  model.parameters = {{"first.weight", {5, 5}, {.rule = Rule::unit, .seed = 11}}};
  return model;
}

Tensor tied_input() { return formula({2, 5}, {.rule = Rule::unit, .seed = 3}); }

void shard_together(nn::Module& model) {
  std::vector<nn::Module*> both = {&model.child("first"), &model.child("last")};
  fully_shard(both);
  fully_shard(model);
}

// A tied weight in two groups has two shards, which are trained apart.
TEST(KnownParameterFaults, ATiedWeightIsInTwoGroups) {
  auto body = [](bool apart) {
    return [apart](Rank&) {
      nn::ModulePtr model = build_model(tied_layers());
      if (apart) {
        fully_shard(model->child("first"));
        fully_shard(model->child("last"));
      }
      if (apart)
        fully_shard(*model);
      else
        shard_together(*model);
      (*model)(tied_input());
    };
  };
  EXPECT_THAT(failure_of(2, body(true)),
              HasSubstr("expected shared parameters in one FSDP group, got first.weight and "
                        "last.weight, which are the same parameter, in two"));
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// Does to the first group's shard what the second group did: on ranks with padding it padded the
// shard again, in memory of its own, which from then on was gathered, while the optimiser used the
// other.
void pad_apart(nn::Module& model) {
  for (const NamedParam& named : named_params(model)) {
    const FSDPParam& param = *named.param;
    if (param.sharded_shape() == param.padded_shape()) continue;
    DTensor shard = DTensor::of(param.sharded_param());
    Tensor other = DTensor(shard.spec(), shard.local().clone()).as_tensor();
    set_requires_grad(other);
    const ParameterSlots::Slot& owner = param.slots().owner;
    owner.module->set_parameter(owner.name, other);
    named.param->reset_sharded_param();
  }
}

// Rows of the last rank are frozen then, and nothing says so but the bits of one device, or the
// owners of the bytes.
TEST(KnownParameterFaults, RowsOfATiedWeightAreFrozen) {
  auto body = [](bool apart, bool checks) {
    return [apart, checks](Rank& rank) {
      nn::ModulePtr model = build_model(tied_layers()), whole = build_model(tied_layers());
      shard_together(*model);
      optim::Sgd optimizer(model->parameters(), optim::SgdOptions{.lr = 0.5});
      optim::Sgd of_one_device(whole->parameters(), optim::SgdOptions{.lr = 0.5});
      if (apart) pad_apart(*model);
      backward(sum((*model)(tied_input())));
      backward(sum((*whole)(tied_input())));
      optimizer.step();
      of_one_device.step();
      if (checks) return check_owners(*model, optimizer.parameters());
      rank.expect_same_bits(full_state_dict(*model)[0].second, whole->parameters()[0].detach());
    };
  };
  EXPECT_THAT(
      failure_of(2, body(true, false)),
      HasSubstr(
          "elements of float32[5, 5] differ, by at most 0.5163813829421997; the first at [3, 0]"));
  EXPECT_THAT(failure_of(2, body(true, true)),
              HasSubstr("rank 1: first.weight: expected one owner of the shard's bytes, got an "
                        "optimiser that changes other bytes than gathers read"));
  EXPECT_EQ(failure_of(2, body(false, false)), "");
  EXPECT_EQ(failure_of(2, body(false, true)), "");
}

// Scales by a weight that all tensor-parallel ranks have, each for rows of its own: the gradient of
// each is a part of a sum.
struct SequenceScale final : nn::Module {
  explicit SequenceScale(const DeviceMesh& tensor_mesh) {
    register_parameter("weight", full({4}, DType::float32, 1));
    DTensor weight = distribute_tensor(parameter("weight").detach(), tensor_mesh, {Replicate()});
    weight.set_requires_grad();
    set_parameter("weight", weight.as_tensor());
  }

  nn::Tensors forward(const nn::Tensors& inputs) override {
    Tensor weight = parameter("weight");
    if (sums_early) {
      register_hook(weight, [](const Tensor& gradient) {
        Tensor narrow = simmesh::to(gradient, DType::bfloat16);
        return DTensor::of(narrow).redistribute({Replicate()}).as_tensor();
      });
    }
    Placements parts = {Partial(ReduceOp::sum)};
    return {mul(inputs[0], DTensor::of(weight).to_local({.grad_placements = parts}))};
  }

  bool sums_early = false;
};

// The sum over tensor-parallel ranks was in the dtype of the gradient, and not in reduce_dtype: in
// bfloat16 256 + 1 is 256.
TEST(KnownParameterFaults, ATensorParallelSumIgnoresTheReduceDtype) {
  auto body = [](bool early, bool syncs) {
    return [early, syncs](Rank& rank) {
      DeviceMesh mesh = init_device_mesh({2, 2}, {"data", "tensor"});
      SequenceScale model(mesh["tensor"]);
      model.sums_early = early;
      fully_shard(model,
                  {.mesh = mesh["data"],
                   .mp_policy = {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32}});
      Tensor x = full({4}, DType::float32, rank.id() % 2 == 0 ? 256 : 1);
      if (!syncs) {
        FSDPModule(model).set_requires_gradient_sync(false);
        backward(sum(model(zeros({4}, DType::float32))));
        FSDPModule(model).set_requires_gradient_sync(true);
      }
      backward(sum(model(x)));
      Tensor gradient = grad_of(model.parameter("weight")).local_part();
      rank.expect_same_bits(gradient, full({2}, DType::float32, 257));
    };
  };
  for (bool syncs : {true, false}) {
    EXPECT_THAT(failure_of(4, body(true, syncs)), HasSubstr("expected 257, got 256"));
    EXPECT_EQ(failure_of(4, body(false, syncs)), "");
  }
}

// UnevenPieces is a weight of some rows that tensor parallelism cut before data parallelism cuts
// its parts.
struct UnevenPieces {
  std::int64_t rows, data, tensor;
};

// The rows of a rank by the rule of plain shards, data before tensor parallelism: wrong here, where
// the placement is a strided shard.
Tensor cut_left_to_right(const Tensor& whole, const UnevenPieces& pieces, Rank& rank) {
  std::int64_t at = rank.id();
  Chunk outer = chunk_of({.size = pieces.rows, .parts = pieces.data, .index = at / pieces.tensor});
  Chunk inner =
      chunk_of({.size = outer.length, .parts = pieces.tensor, .index = at % pieces.tensor});
  return whole.narrow({0, outer.start + inner.start, inner.length}).clone();
}

// A load that cuts an uneven weight that way puts rows on wrong ranks, or pieces of a wrong size.
std::string failure_of_load(const UnevenPieces& pieces, bool left_to_right) {
  return failure_of(std::size_t(pieces.data * pieces.tensor), [=](Rank& rank) {
    DeviceMesh mesh = init_device_mesh({pieces.data, pieces.tensor}, {"data", "tensor"});
    nn::ModulePtr model = nn::build(
        {"", "linear", {{"in", std::int64_t(2)}, {"out", pieces.rows}, {"bias", false}}, {}});
    Tensor zero = zeros({pieces.rows, 2}, DType::float32);
    model->set_parameter("weight", distribute_tensor(zero, mesh["tensor"], {Shard(0)}).as_tensor());
    fully_shard(*model, {.mesh = mesh["data"]});
    Tensor whole = formula({pieces.rows, 2}, {.rule = Rule::wide, .seed = 5});
    if (left_to_right) {
      DTensor shard = DTensor::of(model->parameter("weight"));
      Tensor piece = cut_left_to_right(whole, pieces, rank);
      DTensor loaded =
          from_local(piece, shard.mesh(), shard.placements(), {.shape = whole.shape()});
      load_state_dict(*model, {{"weight", loaded.as_tensor()}});
    } else {
      load_state_dict(*model, {{"weight", whole}});
    }
    rank.expect_same_bits(full_state_dict(*model)[0].second, whole);
  });
}

TEST(KnownParameterFaults, UnevenStridedShardsAreCutLeftToRight) {
  EXPECT_THAT(failure_of_load({5, 2, 2}, true),
              HasSubstr("the first at [2, 0]: expected 6.2985992, got -3.008072"));
  EXPECT_THAT(
      failure_of_load({7, 2, 3}, true),
      HasSubstr("rank 2: expected a piece of shape [1, 2] for float32[7, 2](_S(0,3),S(0))"));
  for (std::int64_t rows = 1; rows <= 9; ++rows)
    for (const UnevenPieces& pieces : {UnevenPieces{rows, 2, 2}, {rows, 2, 3}, {rows, 3, 2}})
      EXPECT_EQ(failure_of_load(pieces, false), "") << rows << pieces.data;
}

nn::ModulePtr fan_of_pq() {
  nn::ModelNode node{"", "fan", {}, {}};
  for (const char* name : {"p", "q"})
    node.children.push_back(
        {name, "linear", {{"in", std::int64_t(4)}, {"out", std::int64_t(4)}, {"bias", false}}, {}});
  return nn::build(node);
}

// A micro-batch without sync leaves gradients of the used parameters in float32, and the next one
// fresh ones in bfloat16. Reduced in the dtype of the fresh ones, 256 + 1 is 256.
TEST(KnownParameterFaults, AccumulatedGradientsTakeTheDtypeOfFreshOnes) {
  auto body = [](bool narrows) {
    return [narrows](Rank& rank) {
      nn::ModulePtr model = fan_of_pq();
      fully_shard(*model,
                  {.mp_policy = {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32}});
      FSDPModule root(*model);
      if (narrows)
        root.set_custom_reduce_scatter({.call = [](const ReduceScatterCall& call) {
          Tensor narrow = converted(call.input, DType::bfloat16);
          Tensor reduced = reduce_scatter(narrow, call.reduce, {.dim = 0}, call.group);
          return converted(reduced, call.input.dtype());
        }});
      root.set_requires_gradient_sync(false);
      backward(sum(model->call({full({1, 4}, DType::float32, 256)})[0]));
      root.set_requires_gradient_sync(true);
      nn::Tensors outputs = model->call({full({1, 4}, DType::float32, 1)});
      backward(std::vector<Tensor>{sum(outputs[0]), sum(outputs[1])});
      std::vector<Tensor> parameters = model->parameters();
      rank.expect_same_bits(grad_of(parameters[0]).local_part(), full({2, 4}, DType::float32, 257));
      rank.expect_same_bits(grad_of(parameters[1]).local_part(), full({2, 4}, DType::float32, 1));
    };
  };
  EXPECT_THAT(failure_of(2, body(true)), HasSubstr("expected 257, got 256"));
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// With neither a reduce_dtype nor a grad_dtype, a rank on which one gradient is wider reduces in
// another dtype than the others.
TEST(KnownParameterFaults, RanksReduceInDifferentDtypes) {
  auto body = [](bool widens) {
    return [widens](Rank& rank) {
      nn::ModulePtr model = fan_of_pq();
      for (Tensor& parameter : model->parameters()) set_grad_dtype(parameter, GradDtype::any());
      fully_shard(*model, {.mp_policy = {.param_dtype = DType::bfloat16}});
      nn::Tensors outputs = model->call({full({1, 4}, DType::float32, 1)});
      Tensor weight = model->child("q").parameter("weight");
      if (widens && rank.id() == 1)
        register_accumulate_hook(
            weight, [](Tensor& leaf) { set_grad(leaf, converted(grad_of(leaf), DType::float32)); });
      backward(std::vector<Tensor>{sum(outputs[0]), sum(outputs[1])});
    };
  };
  EXPECT_THAT(failure_of(2, body(true)),
              AllOf(HasSubstr("the dtypes differ: rank 0 calls reduce_scatter(avg) along dim 0 of "
                              "bfloat16[32]"),
                    HasSubstr("rank 1 calls reduce_scatter(avg) along dim 0 of float32[32]")));
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// A DTensor among plain gradients was cut as if it were plain: it is refused.
TEST(KnownParameterFaults, AGradientIsADTensorAmongPlainOnes) {
  auto body = [](bool distributes) {
    return [distributes](Rank&) {
      DeviceMesh mesh = init_device_mesh({2});
      nn::ModulePtr model = fan_of_pq();
      fully_shard(*model, {.mesh = mesh});
      nn::Tensors outputs = model->call({full({1, 4}, DType::float32, 1)});
      Tensor weight = model->child("q").parameter("weight");
      if (distributes)
        register_accumulate_hook(weight, [mesh](Tensor& leaf) {
          set_grad(leaf, from_local(grad_of(leaf), mesh, {Replicate()}).as_tensor());
        });
      backward(std::vector<Tensor>{sum(outputs[0]), sum(outputs[1])});
    };
  };
  EXPECT_THAT(failure_of(2, body(true)),
              HasSubstr("expected a plain gradient of a plain parameter, got the DTensor float32"
                        "[4, 4](R)"));
  EXPECT_EQ(failure_of(2, body(false)), "");
}

// Where nothing below the root is wrapped, the input of its reduction is as large as the model. A
// device that has room for the model wrapped layer by layer is too small for that, and says so.
TEST(KnownParameterFaults, AReductionTakesTheWholeModel) {
  TrainingModel described = small_model(8, 2048);
  std::int64_t input_bytes = 0;
  for (const ParameterData& parameter : described.parameters) {
    std::int64_t rows = parameter.shape[0], row = numel(parameter.shape) / rows;
    input_bytes += 4 * 2 * chunk_of({.size = rows, .parts = 2, .index = 0}).length * row;
  }
  input_bytes += -input_bytes & 511;  // as the allocator rounds
  auto body = [&](bool wraps_layers) {
    return [wraps_layers, &described](Rank&) {
      nn::ModulePtr model = nn::build(described.node);
      if (wraps_layers)
        shard_layers(*model);
      else
        fully_shard(*model);
      backward(sum((*model)(zeros({2, 2048}, DType::float32))));
    };
  };
  auto failure = [&](bool wraps_layers) {
    World world(
        {.ranks = 2, .device = DeviceModel{.capacity_bytes = 800 << 20}, .shapes_only = true});
    Outcome outcome = world.run(body(wraps_layers));
    return outcome.ok() ? "" : outcome.failure->message;
  };
  EXPECT_THAT(failure(false),
              HasSubstr(fmt::format("out of memory: expected room for {} bytes", input_bytes)));
  EXPECT_EQ(failure(true), "");
}

}  // namespace
}  // namespace simmesh::fsdp
