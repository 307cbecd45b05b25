#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/world.h"
#include "core/nn/model_node.h"
#include "fsdp/fully_shard.h"
#include "testing/gtest.h"
#include "training/training.h"

namespace simmesh::fsdp {

// model_of describes a model with values by formula.
inline TrainingModel model_of(nn::ModelNode node) {
  TrainingModel model;
  model.node = std::move(node);
  nn::ModulePtr built = nn::build(model.node, {.device = nn::Device::meta});
  std::uint64_t seed = 11;
  for (auto& [name, tensor] : built->named_parameters())
    model.parameters.push_back({name, tensor.shape(), {.rule = Rule::unit, .seed = seed += 7}});
  return model;
}

// small_model describes in, layers.0 .. , out: linear layers of the given width, the layers with a
// hidden one. No size divides by 2, 3 or 4 where the width is 5.
inline TrainingModel small_model(std::int64_t layers, std::int64_t width,
                                 bool checkpointed = false) {
  auto linear = [](std::string name, std::int64_t in, std::int64_t out) {
    return nn::ModelNode{std::move(name), "linear", {{"in", in}, {"out", out}}, {}};
  };
  nn::ModelNode list{"layers", "sequential", {}, {}};
  for (std::int64_t i = 0; i < layers; ++i) {
    nn::ModelNode layer{std::to_string(i), "sequential", {}, {}};
    if (checkpointed) layer.fields["ac"] = true;
    layer.children = {
        linear("up", width, width + 2), {"act", "gelu", {}, {}}, linear("down", width + 2, width)};
    list.children.push_back(std::move(layer));
  }
  return model_of(
      {"", "sequential", {}, {linear("in", width, width), list, linear("out", width, 3)}});
}

// every_schedule runs a body on every rank of a world under many schedules, as SIMMESH_TEST does:
// for tests that try several worlds.
inline void every_schedule(std::size_t ranks, const std::function<void(Rank&)>& body,
                           const Arithmetic& arithmetic = Arithmetic::canonical()) {
  testing::run_mesh_test({.mesh = {std::int64_t(ranks)}, .arithmetic = arithmetic},
                         [&](const DeviceMesh&) { body(this_rank()); });
}

// failure_of returns the error of the first failing rank, empty for none. Under another schedule a
// run must fail as well, though maybe in other words, or give the same data and leave nothing
// alive.
inline std::string failure_of(std::size_t ranks, const std::function<void(Rank&)>& body,
                              const std::optional<DeviceModel>& device = {}) {
  std::optional<Outcome> first;
  auto failure = [](const Outcome& outcome) {
    return outcome.ok() ? "" : outcome.failure->message + outcome.failure->details;
  };
  for (const char* schedule : {"fifo", "seeded:1"})
    for (std::size_t threads : {1, 2}) {
      World world({.ranks = ranks,
                   .schedule = Schedule::parse(schedule),
                   .threads = threads,
                   .device = device});
      Outcome outcome = world.run(body);
      EXPECT_EQ(outcome.live_storages, 0) << schedule;
      if (!first) first = outcome;
      EXPECT_EQ(first->ok(), outcome.ok())
          << schedule << ": " << failure(*first) << failure(outcome);
      if (outcome.ok()) {
        EXPECT_EQ(first->data_hash, outcome.data_hash) << schedule;
      }
    }
  return failure(*first);
}

// expect raises, so that a rank can check what it sees.
inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected " + what);
}

// shard_layers wraps each layer, then the model.
inline void shard_layers(nn::Module& model, const FullyShardOptions& options = {}) {
  for (const auto& [name, layer] : model.find("layers").children()) fully_shard(*layer, options);
  fully_shard(model, options);
}

}  // namespace simmesh::fsdp
