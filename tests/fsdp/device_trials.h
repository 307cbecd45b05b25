#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/ops/reductions/reductions.h"
#include "core/optim/adam.h"
#include "fsdp/fsdp_module.h"
#include "tests/fsdp/faulty_streams.h"
#include "tests/fsdp/sharded_worlds.h"

namespace simmesh::fsdp {

// Trial is a training run of a small model on ranks with simulated devices, as users write it.
struct Trial {
  Shape mesh = {2};  // 1-D, or replicas and shards
  std::int64_t layers = 3;
  std::int64_t width = 4;
  int steps = 4;
  int micro_batches = 1;
  FullyShardOptions options = {};
  // The streams on which the model communicates: with a bug, or as it ships.
  MakeStreams make_streams = make_streams_of<CommStreams>;
  DeviceModel device = {};
  // Called when the model is sharded, and before each micro-batch.
  std::function<void(nn::Module&)> prepare = [](nn::Module&) {};
  std::function<void(nn::Module&, int micro_batch)> before = [](nn::Module&, int) {};
  // Instead of one step of an optimiser, after backward.
  std::function<void(nn::Module&, optim::Optimizer&)> after = [](nn::Module&,
                                                                 optim::Optimizer& optimizer) {
    optimizer.step();
    optimizer.zero_grad();
  };
};

inline DeviceMesh mesh_of(const Trial& trial) {
  if (trial.mesh.size() == 1) return init_device_mesh(trial.mesh, {"shard"});
  return init_device_mesh(trial.mesh, {"replicate", "shard"});
}

inline void train(const Trial& trial, Rank& rank) {
  nn::ModulePtr model = build_model(small_model(trial.layers, trial.width));
  FullyShardOptions options = trial.options;
  options.mesh = mesh_of(trial);
  shard_layers(*model, options);
  communicate_over(*model, trial.make_streams());
  trial.prepare(*model);
  optim::AdamW optimizer(model->parameters(), {.lr = 0.01});
  for (int step = 0; step < trial.steps; ++step) {
    for (int micro = 0; micro < trial.micro_batches; ++micro) {
      trial.before(*model, micro);
      Tensor x = formula({2, trial.width}, {.rule = Rule::unit, .seed = 3 + rank.id()});
      backward(sum((*model)(x)));
    }
    trial.after(*model, optimizer);
  }
}

// on_devices runs a body under one schedule, on devices.
inline Outcome on_devices(std::size_t ranks, const DeviceModel& device, const char* schedule,
                          std::size_t threads, const std::function<void(Rank&)>& body) {
  World world({.ranks = ranks,
               .schedule = Schedule::parse(schedule),
               .threads = threads,
               .device = device});
  return world.run(body);
}

// race_in runs a body and returns the error of the first failing rank, empty for none; under
// another schedule it must fail or succeed alike.
inline std::string race_in(std::size_t ranks, const std::function<void(Rank&)>& body,
                           const DeviceModel& device = {}) {
  Outcome first = on_devices(ranks, device, "fifo", 1, body);
  Outcome other = on_devices(ranks, device, "seeded:1", 2, body);
  EXPECT_EQ(first.ok(), other.ok());
  if (first.ok()) {
    EXPECT_EQ(first.data_hash, other.data_hash);
  }
  EXPECT_EQ(first.live_storages + other.live_storages, 0);
  return first.ok() ? "" : first.failure->message;
}

// casting_policy reduces gradients in another dtype than the shards', so that they are cast at the
// end of a reduction.
inline MixedPrecisionPolicy casting_policy() {
  return {.param_dtype = DType::bfloat16, .reduce_dtype = DType::bfloat16};
}

inline std::size_t ranks_of(const Trial& trial) { return std::size_t(numel(trial.mesh)); }

inline std::string race_in(const Trial& trial) {
  return race_in(
      ranks_of(trial), [&](Rank& rank) { train(trial, rank); }, trial.device);
}

// report_of returns the report of the first rank's device; the same under all schedules.
inline DeviceReport report_of(std::size_t ranks, const std::function<void(Rank&)>& body,
                              const DeviceModel& device = {}) {
  std::optional<DeviceReport> first;
  for (const char* schedule : {"fifo", "seeded:1"})
    for (std::size_t threads : {1, 2}) {
      Outcome outcome = on_devices(ranks, device, schedule, threads, body);
      EXPECT_TRUE(outcome.ok()) << report(outcome);
      if (!outcome.ok()) return {};
      EXPECT_EQ(outcome.live_storages, 0) << schedule;
      const DeviceReport& report = outcome.devices.front();
      if (!first) first = report;
      EXPECT_EQ(report.makespan_us, first->makespan_us) << schedule;
      EXPECT_EQ(report.exposed_communication_us, first->exposed_communication_us);
      EXPECT_EQ(report.memory, first->memory);
    }
  return *first;
}

inline DeviceReport report_of(const Trial& trial) {
  return report_of(
      ranks_of(trial), [&](Rank& rank) { train(trial, rank); }, trial.device);
}

}  // namespace simmesh::fsdp
