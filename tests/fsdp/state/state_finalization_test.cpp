#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/reductions/reductions.h"
#include "fsdp/state/event_fields.h"
#include "tests/expect_error.h"
#include "tests/fsdp/sharded_worlds.h"

// The end of backward as a step of its own: what it reduces and when, and what is refused before
// it.
namespace simmesh::fsdp {
namespace {

using simmesh::testing::expect_error;

Tensor finalize_input() { return formula({2, 5}, {.rule = Rule::unit, .seed = 3}); }

nn::ModulePtr manual_model(const DeviceMesh& mesh, bool is_manual = true) {
  nn::ModulePtr model = build_model(small_model(2, 5));
  shard_layers(*model, {.mesh = mesh});
  if (is_manual) FSDPModule(*model).set_manual_backward_finalization(true);
  return model;
}

Tensor loss_of(nn::Module& model) { return sum(model(finalize_input())); }

bool has_all_gradients(nn::Module& model) {
  std::vector<Tensor> parameters = model.parameters();
  return std::all_of(parameters.begin(), parameters.end(), [](const Tensor& parameter) {
    Tensor gradient = grad_of(parameter);
    return gradient.is_defined() && gradient.distribution();
  });
}

void expect_same_gradients(nn::Module& model, nn::Module& other) {
  std::vector<Tensor> left = model.parameters(), right = other.parameters();
  expect(has_all_gradients(model), "a gradient of every shard");
  for (std::size_t i = 0; i < left.size(); ++i)
    EXPECT_SAME_BITS(grad_of(left[i]).local_part(), grad_of(right[i]).local_part());
}

// A group that the caller must complete, or one that is completed twice, would change gradients.
SIMMESH_TEST(GradientReduction, GivesTheGradientsOfAnAutomaticEnd, {.mesh = {2}}) {
  for (bool async_op : {false, true}) {
    nn::ModulePtr manual = manual_model(mesh), automatic = manual_model(mesh, false);
    for (int micro = 0; micro < 3; ++micro) {
      for (nn::Module* model : {manual.get(), automatic.get()}) {
        FSDPModule root(*model);
        root.set_requires_gradient_sync(micro == 2);
        root.set_is_last_backward(micro == 2);
        backward(loss_of(*model));
      }
    }
    auto handle = FSDPModule(*manual).finalize_backward(async_op);
    expect(handle.has_value() == async_op, "a handle of an asynchronous end alone");
    if (handle) handle->wait();
    expect_same_gradients(*manual, *automatic);
  }
}

// Groups that the tape reached are reduced in backward; the rest, and all finalisations, wait.
SIMMESH_TEST(GradientReduction, LeavesTheRestToTheCaller, {.mesh = {2}}) {
  nn::ModulePtr model = manual_model(mesh);
  std::vector<std::string> events;
  ObserverScope observer([&](const Event& event) {
    if (event.kind == EventKind::post_backward || event.kind == EventKind::finalize)
      events.push_back(to_string(fields_of(event, *model)));
  });
  backward(loss_of(*model));
  expect(std::exchange(events, {}) ==
             std::vector<std::string>{"(post_backward, layers.1)", "(post_backward, layers.0)"},
         "the backward of the layers");
  FSDPModule(*model).finalize_backward();
  expect(events == std::vector<std::string>{"(post_backward, )", "(finalize, , clean)",
                                            "(finalize, layers.0, clean)",
                                            "(finalize, layers.1, clean)"},
         "the backward of the root, then all finalisations");
}

SIMMESH_TEST(GradientReduction, RefusesWhatWouldMixIterations, {.mesh = {2}}) {
  nn::ModulePtr model = manual_model(mesh);
  FSDPModule root(*model), layer(model->find("layers.0"));
  expect(!root.finalize_backward(), "nothing to do before the first forward");
  root.finalize_backward(true)->wait();
  backward(loss_of(*model));
  expect_error([&] { root.set_manual_backward_finalization(false); }, ErrorKind::runtime_error,
               "cannot change mode after backward starts");
  expect_error([&] { layer.finalize_backward(); }, ErrorKind::runtime_error,
               "must be called on the root");
  expect_error([&] { layer.set_manual_backward_finalization(true); }, ErrorKind::runtime_error,
               "must be called on the root");
  GradientReductionHandle handle = *root.finalize_backward(true);
  expect_error([&] { loss_of(*model); }, ErrorKind::runtime_error,
               "must be waited on before forward");
  expect_error([&] { root.finalize_backward(); }, ErrorKind::runtime_error,
               "must be waited on before finalizing");
  handle.wait();
  handle.wait();
  expect(has_all_gradients(*model), "gradients");
  root.set_manual_backward_finalization(false);
  expect_error([&] { root.finalize_backward(); }, ErrorKind::runtime_error,
               "requires manual backward finalization");
}

SIMMESH_TEST(GradientReduction, RefusesToEndWithinBackward, {.mesh = {2}}) {
  nn::ModulePtr model = manual_model(mesh);
  FSDPModule root(*model);
  Tensor output = (*model)(finalize_input());
  int refusals = 0;
  register_hook(output, [&](const Tensor&) {
    expect_error([&] { root.finalize_backward(); }, ErrorKind::runtime_error,
                 "after backward completes");
    expect_error([&] { root.set_manual_backward_finalization(false); }, ErrorKind::runtime_error,
                 "cannot change mode during backward");
    ++refusals;
    return Tensor();
  });
  backward(sum(output));
  expect(refusals == 1, "one call of the hook");
  root.finalize_backward();
}

// The setting of a module that turns out to be below the root.
SIMMESH_TEST(GradientReduction, RefusesAModuleBelowTheRoot, {.mesh = {2}}) {
  nn::ModulePtr model = manual_model(mesh, false);
  FSDPModule(model->find("layers.0")).set_manual_backward_finalization(true);
  expect_error([&] { loss_of(*model); }, ErrorKind::runtime_error, "must be called on the root");
}

SIMMESH_TEST(GradientReduction, RefusesPartialSums,
             {.mesh = {2, 2}, .names = {"replicate", "shard"}}) {
  nn::ModulePtr model = manual_model(mesh);
  FSDPModule root(*model);
  root.set_requires_gradient_sync(false);
  backward(loss_of(*model));
  root.set_requires_gradient_sync(true);
  root.set_requires_all_reduce(false);
  expect_error([&] { root.finalize_backward(); }, ErrorKind::runtime_error, "requires all-reduce");
  backward(loss_of(*model));
  root.set_requires_all_reduce(true);
  expect_error([&] { root.finalize_backward(); }, ErrorKind::runtime_error,
               "partial gradient reductions");
  root.reset_iter_state();
}

SIMMESH_TEST(GradientReduction, ResetInvalidatesTheHandle, {.mesh = {2}}) {
  nn::ModulePtr model = manual_model(mesh), other = manual_model(mesh, false);
  FSDPModule root(*model);
  backward(loss_of(*model));
  GradientReductionHandle handle = *root.finalize_backward(true);
  root.reset_iter_state();
  expect_error([&] { handle.wait(); }, ErrorKind::runtime_error, "was invalidated");
  backward(loss_of(*model));
  root.finalize_backward();
  backward(loss_of(*other));
  expect_same_gradients(*model, *other);
}

// Roots that share a communication context wait for one another.
SIMMESH_TEST(GradientReduction, IsSeenByRootsThatShareAContext, {.mesh = {2}}) {
  nn::ModulePtr a = manual_model(mesh), b = manual_model(mesh);
  share_comm_ctx({a.get(), b.get()});
  Tensor of_a = loss_of(*a), of_b = loss_of(*b);
  backward(of_a);
  expect_error([&] { FSDPModule(*a).finalize_backward(true); }, ErrorKind::runtime_error,
               "cannot overlap work");
  backward(of_b);
  FSDPModule(*a).finalize_backward();
  FSDPModule(*b).finalize_backward();
  backward(loss_of(*a));
  GradientReductionHandle handle = *FSDPModule(*a).finalize_backward(true);
  expect_error([&] { loss_of(*b); }, ErrorKind::runtime_error, "must be waited on before forward");
  expect_error([&] { FSDPModule(*b).reset_iter_state(); }, ErrorKind::runtime_error,
               "owned by another FSDP root");
  handle.wait();
  FSDPModule(*b).reset_iter_state();
}

}  // namespace
}  // namespace simmesh::fsdp
