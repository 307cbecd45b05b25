#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/reductions/reductions.h"
#include "core/tensor/convert.h"
#include "core/tensor/scalar_value.h"
#include "fsdp/named_params.h"
#include "fsdp/state/event_fields.h"
#include "tests/expect_error.h"
#include "tests/fsdp/sharded_worlds.h"

// FSDP2 under PyTorch 2.13 and under 2.15. All values are those of the real releases.
namespace simmesh::fsdp {
namespace {

using simmesh::testing::kind_and_message;

using Texts = std::vector<std::string>;
using Body = std::function<Texts(const DeviceMesh& mesh)>;

// Returns the texts of every rank under a release, under many schedules.
Texts seen_under(Release release, const Shape& mesh, const Body& body) {
  Texts seen;
  testing::MeshTest test{.mesh = mesh, .release = release};
  if (mesh.size() == 2) test.names = {"replicate", "shard"};
  testing::run_mesh_test(test, [&](const DeviceMesh& whole) {
    Texts own = body(whole);
    if (this_rank().id() == 0) seen = own;
  });
  return seen;
}

void expect_seen(const Shape& mesh, const Body& body, const Texts& before, const Texts& after) {
  EXPECT_EQ(seen_under(Release::v2_13, mesh, body), before);
  EXPECT_EQ(seen_under(Release::v2_15, mesh, body), after);
}

nn::ModelNode linear(std::string name) {
  return {std::move(name),
          "linear",
          {{"in", std::int64_t(2)}, {"out", std::int64_t(2)}, {"bias", false}},
          {}};
}

// p and q of the same input.
nn::ModulePtr fan_of_two(DType dtype = DType::float32) {
  nn::ModelNode node{"", "fan", {}, {linear("p"), linear("q")}};
  return nn::build(node, {.dtype = dtype});
}

Tensor rows(double value, DType dtype = DType::float32) { return full({1, 2}, dtype, value); }

std::string text_of(const Tensor& gradient) {
  if (!gradient.is_defined()) return "none";
  Tensor local = gradient.local_part();
  return fmt::format("{} {}", to_string(local.dtype()),
                     scalar_value(local.narrow({0, 0, 1}).narrow({1, 0, 1})));
}

std::string refusal_of(const std::function<void()>& act) {
  std::string refusal = kind_and_message(act);
  return refusal.empty() ? "none" : refusal;
}

// Collects the events of some kinds as text.
class Collected {
 public:
  Collected(nn::Module& model, std::vector<EventKind> kinds)
      : scope_([this, &model, kinds = std::move(kinds)](const Event& event) {
          for (EventKind kind : kinds)
            if (event.kind == kind) texts_.push_back(to_string(fields_of(event, model)));
        }) {}

  Texts take() { return std::exchange(texts_, {}); }

 private:
  Texts texts_;
  ObserverScope scope_;
};

TEST(ReleaseChanges, ReduceInOriginalDtype) {
  using enum DType;
  auto reduced = [](DType original, DType computed) {
    return [=](const DeviceMesh& mesh) {
      nn::ModulePtr model = fan_of_two(original);
      fully_shard(*model, {.mesh = mesh, .mp_policy = {.param_dtype = computed}});
      Collected events(*model, {EventKind::reduce_scatter});
      backward(sum(model->call({rows(1, original)})[0]));
      return events.take();
    };
  };
  expect_seen({2}, reduced(float32, bfloat16), {"(reduce_scatter, , 4, 2, 2, bfloat16, avg)"},
              {"(reduce_scatter, , 4, 2, 2, float32, avg)"});
  expect_seen({2}, reduced(float32, float16), {"(reduce_scatter, , 4, 2, 2, float16, sum)"},
              {"(reduce_scatter, , 4, 2, 2, float32, avg)"});
  expect_seen({2}, reduced(bfloat16, float32), {"(reduce_scatter, , 4, 2, 2, float32, avg)"},
              {"(reduce_scatter, , 4, 2, 2, bfloat16, avg)"});
  expect_seen({2}, reduced(float64, float32), {"(reduce_scatter, , 4, 2, 2, float32, avg)"},
              {"(reduce_scatter, , 4, 2, 2, float64, sum)"});
}

TEST(ReleaseChanges, GradDtypeOfParameters) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    Tensor weight = model->child("q").parameter("weight");
    set_grad_dtype(weight, DType::bfloat16);
    std::string refusal = refusal_of([&] { fully_shard(*model, {.mesh = mesh}); });
    if (refusal != "none") return Texts{refusal};
    Collected events(*model, {EventKind::reduce_scatter});
    nn::Tensors outputs = model->call({rows(1.00390625)});
    backward(std::vector<Tensor>{sum(outputs[0]), sum(outputs[1])});
    Texts texts = events.take();
    for (const Tensor& parameter : model->parameters())
      texts.push_back(text_of(grad_of(parameter)));
    return texts;
  };
  expect_seen({2}, body,
              {"NotImplementedError: grad_dtype of a sharded parameter needs "
               "PyTorch 2.15, got the release 2.13"},
              {"(reduce_scatter, , 8, 4, 2, float32, avg)", "float32 1.00390625", "bfloat16 1"});
}

// 256 + 1.00390625 in bfloat16 is 258 where it is rounded once, 256 where the second is rounded
// first.
TEST(ReleaseChanges, AccumulateOnParameter) {
  auto body = [](bool clears) {
    return [clears](const DeviceMesh& mesh) {
      nn::ModulePtr model = fan_of_two();
      fully_shard(*model, {.mesh = mesh, .mp_policy = {.reduce_dtype = DType::bfloat16}});
      FSDPModule root(*model);
      root.set_reshard_after_backward(false);
      for (double value : {256.0, 1.00390625}) {
        root.set_requires_gradient_sync(value != 256.0);
        backward(sum(model->call({rows(value)})[0]));
        if (clears && value == 256.0) model->zero_grad();
      }
      root.reshard();
      return Texts{text_of(grad_of(model->parameters()[0]))};
    };
  };
  expect_seen({2}, body(false), {"float32 258"}, {"float32 256"});
  expect_seen({2}, body(true), {"float32 258"}, {"float32 1"});
}

TEST(ReleaseChanges, ReduceForPartialSumsAlone) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    for (const char* name : {"p", "q"}) fully_shard(model->child(name), {.mesh = mesh});
    fully_shard(*model, {.mesh = mesh});
    Collected events(*model, {EventKind::reduce_scatter, EventKind::all_reduce});
    for (std::size_t used : {0, 1, 1}) {
      FSDPModule(*model).set_requires_all_reduce(false);
      backward(sum(model->call({rows(1)})[used]));
    }
    return events.take();
  };
  const std::string p = "(reduce_scatter, p, 4, 2, 2, float32, avg)",
                    q = "(reduce_scatter, q, 4, 2, 2, float32, avg)";
  expect_seen({2, 2}, body, {p, q, q}, {p, p, q, p, q});
}

TEST(ReleaseChanges, FinalizeAfterPostBackward) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    for (const char* name : {"p", "q"}) fully_shard(model->child(name), {.mesh = mesh});
    fully_shard(*model, {.mesh = mesh});
    Collected events(*model, {EventKind::post_backward, EventKind::finalize});
    backward(sum(model->call({rows(1)})[0]));
    return events.take();
  };
  const std::string p = "(post_backward, p)", q = "(post_backward, q)",
                    end_p = "(finalize, p, clean)", end_q = "(finalize, q, clean)";
  expect_seen({2}, body, {p, end_p, q, end_q}, {p, q, end_p, end_q});
}

// A head of two layers is called by itself, in part, after the model's forward; the gathered buffer
// of 2 x 8 floats is the last one.
TEST(ReleaseChanges, ReleaseGatherAfterBackward) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModelNode node{"", "sequential", {}, {linear("body"), linear("head"), linear("norm")}};
    node.fields["calls"] = std::vector<std::string>{"body"};
    nn::ModulePtr model = nn::build(node);
    std::vector<nn::Module*> head = {&model->child("head"), &model->child("norm")};
    fully_shard(model->child("body"), {.mesh = mesh});
    fully_shard(head, {.mesh = mesh});
    fully_shard(*model, {.mesh = mesh});
    Tensor hidden = model->call({rows(1)})[0], part = hidden.detach();
    set_requires_grad(part);
    backward(sum(model->child("head").call({part})[0]));
    backward(sum(hidden));
    return Texts{
        fmt::format("{} bytes", this_rank().ledger().of(MemoryCategory::communication).current)};
  };
  expect_seen({2}, body, {"32 bytes"}, {"0 bytes"});
}

TEST(ReleaseChanges, ManualBackwardFinalization) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    fully_shard(*model, {.mesh = mesh});
    FSDPModule root(*model);
    Texts texts = {refusal_of([&] { root.set_manual_backward_finalization(true); })};
    Collected events(*model, {EventKind::root_callback, EventKind::reduce_scatter});
    backward(sum(model->call({rows(1)})[0]));
    texts.push_back(refusal_of([&] { root.finalize_backward(); }));
    for (const std::string& text : events.take()) texts.push_back(text);
    return texts;
  };
  const std::string reduced = "(reduce_scatter, , 4, 2, 2, float32, avg)";
  expect_seen({2}, body,
              {"AttributeError: set_manual_backward_finalization needs "
               "PyTorch 2.15, got the release 2.13",
               "AttributeError: finalize_backward needs PyTorch 2.15, got "
               "the release 2.13",
               "(root_callback, )", reduced},
              {"none", "none", "(root_callback, )", reduced});
}

TEST(ReleaseChanges, ResetClearsGradients) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    fully_shard(*model, {.mesh = mesh});
    backward(sum(model->call({rows(3)})[0]));
    FSDPModule(*model).reset_iter_state();
    return Texts{text_of(grad_of(model->parameters()[0]))};
  };
  expect_seen({2}, body, {"float32 3"}, {"none"});
}

TEST(ReleaseChanges, KeepUnshardedStorage) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    fully_shard(*model, {.mesh = mesh});
    Texts texts = {refusal_of([&] { FSDPModule(*model).set_keep_unsharded_storage(true); })};
    backward(sum(model->call({rows(1)})[0]));
    for (const NamedParam& named : named_params(*model))
      texts.push_back(named.param->unsharded_data().storage()->is_freed() ? "freed" : "kept");
    return texts;
  };
  expect_seen({2}, body,
              {"AttributeError: set_keep_unsharded_storage needs PyTorch "
               "2.15, got the release 2.13",
               "freed", "freed"},
              {"none", "kept", "kept"});
}

TEST(ReleaseChanges, ParamDtypeOverride) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    Tensor kept = model->child("q").parameter("weight");
    MixedPrecisionPolicy policy{.param_dtype = DType::bfloat16};
    policy.param_dtype_override_fn = [kept](const Tensor& parameter) -> std::optional<DType> {
      if (nn::is_same_tensor(parameter, kept)) return DType::float32;
      return std::nullopt;
    };
    std::string refusal =
        refusal_of([&] { fully_shard(*model, {.mesh = mesh, .mp_policy = policy}); });
    if (refusal != "none") return Texts{refusal};
    Collected events(*model, {EventKind::all_gather});
    FSDPModule(*model).unshard();
    return events.take();
  };
  expect_seen({2}, body,
              {"TypeError: param_dtype_override_fn needs PyTorch 2.15, got "
               "the release 2.13"},
              {"(all_gather, , 12, 24, 2, uint8)"});
}

// 2.13 takes a gradient that wasn't reduced before the reset into the next step: here it doesn't.
TEST(ReleasesAgree, OnWhatAResetDrops) {
  Body body = [](const DeviceMesh& mesh) {
    nn::ModulePtr model = fan_of_two();
    fully_shard(*model, {.mesh = mesh, .mp_policy = {.param_dtype = DType::bfloat16}});
    FSDPModule root(*model);
    root.set_requires_gradient_sync(false);
    backward(sum(model->call({rows(256)})[0]));
    root.reset_iter_state();
    root.set_requires_gradient_sync(true);
    backward(sum(model->call({rows(1)})[0]));
    return Texts{text_of(grad_of(model->parameters()[0]))};
  };
  expect_seen({2}, body, {"float32 1"}, {"float32 1"});
}

}  // namespace
}  // namespace simmesh::fsdp
