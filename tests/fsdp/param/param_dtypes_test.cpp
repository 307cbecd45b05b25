#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"
#include "fsdp/state_dict/state_dict.h"
#include "tests/fsdp/sharded_worlds.h"

// In which dtypes gradients add up, are reduced and end, as PyTorch 2.15.0 does it.
namespace simmesh::fsdp {
namespace {

// Parameters a, b, c, .. of two rows, each multiplied by the module's input.
struct Scales final : nn::Module {
  explicit Scales(std::size_t count, DType dtype = DType::float32) {
    for (std::size_t i = 0; i < count; ++i)
      register_parameter(name_of_scale(i), full({2}, dtype, 1));
  }
  static std::string name_of_scale(std::size_t index) { return {char('a' + char(index))}; }

  nn::Tensors forward(const nn::Tensors& inputs) override {
    nn::Tensors outputs;
    for (const nn::ParameterSlot& slot : slots())
      outputs.push_back(sum(mul(slot.tensor, simmesh::to(inputs[0], slot.tensor.dtype()))));
    return outputs;
  }

  void set_policy(std::size_t index, GradDtype policy) {
    Tensor tensor = parameter(name_of_scale(index));
    set_grad_dtype(tensor, policy);
  }
  // The gradients of the factor, of all parameters or of one, as often as it is named.
  void run(double factor, const std::vector<std::size_t>& used) {
    nn::Tensors outputs = call({full({2}, DType::float32, factor)}), losses;
    for (std::size_t index : used) losses.push_back(outputs[index]);
    backward(losses);
  }
  std::string gradient(std::size_t index) {
    Tensor found = grad_of(parameter(name_of_scale(index)));
    if (!found.is_defined()) return "none";
    Tensor local = found.local_part();
    expect(local.dtype() == found.dtype(), "a gradient of the dtype of its shard");
    return fmt::format("{} {}", to_string(local.dtype()), scalar_value(local.narrow({0, 0, 1})));
  }
};

void expect_text(const std::string& actual, const std::string& expected) {
  expect(actual == expected, fmt::format("{}, got {}", expected, actual));
}

// The sizes and dtypes of reductions.
struct Reductions {
  std::vector<std::string> seen;
  ObserverScope scope{[this](const Event& event) {
    if (event.kind == EventKind::reduce_scatter)
      seen.push_back(fmt::format("{} {}", event.input.numel(), to_string(event.input.dtype())));
  }};
};

// A policy that is set before or after sharding, and one that conversions and loads must keep.
SIMMESH_TEST(ParamDtypes, KeepTheGradDtypeThatWasSet, {.mesh = {2}}) {
  enum class Act : std::uint8_t { none, sets_late, converts, assigns };
  for (Act act : {Act::none, Act::sets_late, Act::converts, Act::assigns}) {
    Scales model(2);
    if (act != Act::sets_late) model.set_policy(0, DType::bfloat16);
    fully_shard(model, {.mesh = mesh});
    if (act == Act::sets_late) model.set_policy(0, DType::bfloat16);
    if (act == Act::converts) to(model, DType::float64);
    if (act == Act::assigns) load_state_dict(model, full_state_dict(model), {.assign = true});
    model.run(257, {0, 1});
    expect_text(model.gradient(0), "bfloat16 256");
    expect_text(model.gradient(1), act == Act::converts ? "float64 257" : "float32 257");
  }
}

SIMMESH_TEST(ParamDtypes, ConvertGradientsThatFollowTheirParameter, {.mesh = {2}}) {
  Scales model(2);
  model.set_policy(0, DType::bfloat16);
  fully_shard(model, {.mesh = mesh});
  model.run(3, {0, 1});
  to(model, DType::float64);
  expect_text(model.gradient(0), "bfloat16 3");
  expect_text(model.gradient(1), "float64 3");
}

// A group reduces in the promoted dtype of its parameters' dtypes; for `any` the gradient's dtype
// counts.
SIMMESH_TEST(ParamDtypes, PromoteTheDtypesOfAGroup, {.mesh = {2}}) {
  auto reduced = [&](const std::vector<GradDtype>& policies, DType original) {
    Scales model(policies.size(), original);
    for (std::size_t i = 0; i < policies.size(); ++i)
      if (policies[i].is_set()) model.set_policy(i, policies[i]);
    fully_shard(model, {.mesh = mesh, .mp_policy = {.param_dtype = DType::bfloat16}});
    Reductions reductions;
    model.run(1, {0, 1});
    expect(reductions.seen.size() == 1, "one reduction");
    return reductions.seen[0] + ": " + model.gradient(0) + ", " + model.gradient(1);
  };
  using enum DType;
  const GradDtype unset, any = GradDtype::any();
  expect_text(reduced({unset, bfloat16}, float32), "4 float32: float32 1, bfloat16 1");
  expect_text(reduced({bfloat16, bfloat16}, float32), "4 bfloat16: bfloat16 1, bfloat16 1");
  expect_text(reduced({float16, bfloat16}, float32), "4 float32: float16 1, bfloat16 1");
  expect_text(reduced({any, unset}, float32), "4 float32: float32 1, float32 1");
  expect_text(reduced({any, any}, float32), "4 bfloat16: bfloat16 1, bfloat16 1");
}

// a and c are neighbours, b follows: the order of the dtypes' first appearance.
SIMMESH_TEST(ParamDtypes, OrderReductionsByTheDtypeOfTheShards, {.mesh = {2}}) {
  Scales model(3);
  model.set_policy(1, DType::bfloat16);
  fully_shard(model, {.mesh = mesh});
  std::vector<float> input;
  ObserverScope scope([&](const Event& event) {
    if (event.kind != EventKind::reduce_scatter) return;
    auto values = event.input.values<float>();
    input.assign(values.begin(), values.end());
  });
  FSDPModule root(model);
  root.set_requires_gradient_sync(false);
  model.run(1, {0});
  model.run(2, {1});
  root.set_requires_gradient_sync(true);
  model.run(3, {2});
  expect(input == std::vector<float>{1, 3, 2, 1, 3, 2}, "a, c, b for each rank");
}

// Two uses in one pass add up in bfloat16 where the pass reduces, and in float32 where its sum is
// kept: 256 + 1.
SIMMESH_TEST(ParamDtypes, AddUsesUpAsTheTapeDoes, {.mesh = {2}}) {
  for (bool syncs : {true, false}) {
    Scales model(1);
    fully_shard(model, {.mesh = mesh, .mp_policy = {.param_dtype = DType::bfloat16}});
    FSDPModule root(model);
    root.set_requires_gradient_sync(syncs);
    nn::Tensors one = model.call({full({2}, DType::float32, 1)}),
                many = model.call({full({2}, DType::float32, 256)});
    backward(std::vector<Tensor>{one[0], many[0]});
    root.set_requires_gradient_sync(true);
    if (!syncs) model.run(0, {0});
    expect_text(model.gradient(0), syncs ? "float32 256" : "float32 257");
  }
}

// A micro-batch that uses a part of the group accumulates beside one that uses all of it.
SIMMESH_TEST(ParamDtypes, AccumulateInTheOriginalDtype, {.mesh = {2}}) {
  Scales model(2);
  fully_shard(model, {.mesh = mesh, .mp_policy = {.param_dtype = DType::bfloat16}});
  FSDPModule root(model);
  root.set_requires_gradient_sync(false);
  model.run(256, {0});
  root.set_requires_gradient_sync(true);
  model.run(1, {0, 1});
  expect_text(model.gradient(0), "float32 257");
  expect_text(model.gradient(1), "float32 1");
}

// zero_grad reaches the registered parameters: after a reshard the shards, else the sums
// themselves.
SIMMESH_TEST(ParamDtypes, ZeroGradDropsWhatIsRegistered, {.mesh = {2}}) {
  for (bool reshards : {true, false}) {
    Scales model(1);
    fully_shard(model, {.mesh = mesh});
    FSDPModule root(model);
    root.set_reshard_after_backward(reshards);
    root.set_requires_gradient_sync(false);
    model.run(256, {0});
    model.zero_grad();
    root.set_requires_gradient_sync(true);
    model.run(1, {0});
    root.reshard();
    expect_text(model.gradient(0), reshards ? "float32 257" : "float32 1");
  }
}

SIMMESH_TEST(ParamDtypes, RefuseZerosOfAnyDtype, {.mesh = {2}}) {
  auto refusal = [&](std::optional<DType> reduce_dtype) -> std::string {
    Scales model(1);
    model.set_policy(0, GradDtype::any());
    fully_shard(model, {.mesh = mesh, .mp_policy = {.reduce_dtype = reduce_dtype}});
    FSDPModule(model).set_reduce_scatter_unused_params(true);
    try {
      model.run(1, {0});
    } catch (const Error& error) {
      FSDPModule(model).reset_iter_state();
      return error.what();
    }
    return "none";
  };
  expect_text(refusal(DType::float32), "none");
  expect(refusal({}).find("requires an explicit reduce_dtype") != std::string::npos, "a refusal");
}

// One parameter of a group is used in its own dtype, in which 256 + 1 is 257, the other in
// bfloat16: the gather carries bytes.
SIMMESH_TEST(ParamDtypes, KeepTheOriginalDtypeWhereAsked, {.mesh = {2}}) {
  auto run_with = [&](std::optional<DType> chosen) {
    Scales model(2);
    Tensor first = model.parameter("a");
    MixedPrecisionPolicy policy{.param_dtype = DType::bfloat16};
    policy.param_dtype_override_fn = [first, chosen](const Tensor& parameter) {
      return nn::is_same_tensor(parameter, first) ? chosen : std::nullopt;
    };
    fully_shard(model, {.mesh = mesh, .mp_policy = policy});
    nn::Tensors losses = model.call({full({2}, DType::float32, 1)});
    for (Tensor& loss : model.call({full({2}, DType::float32, 256)})) losses.push_back(loss);
    backward(losses);
    return model.gradient(0) + ", " + model.gradient(1);
  };
  expect_text(run_with({}), "float32 256, float32 256");
  expect_text(run_with(DType::bfloat16), "float32 256, float32 256");
  expect_text(run_with(DType::float32), "float32 257, float32 256");
  try {
    run_with(DType::float16);
  } catch (const Error& error) {
    expect(error.kind() == ErrorKind::value_error, "a ValueError for another dtype");
    return;
  }
  throw std::runtime_error("expected a refusal of another dtype");
}

}  // namespace
}  // namespace simmesh::fsdp
