#include <gtest/gtest.h>

#include "core/nn/linear.h"
#include "core/ops/elementwise/inplace.h"
#include "fsdp/param/event.h"
#include "tests/fsdp/device_trials.h"

// Streams race where a wait or a buffer's owner is missing. Each program is right as it is; with a
// fault the checker tells.
namespace simmesh::fsdp {
namespace {

MixedPrecisionPolicy mixed_precision() {
  return {.param_dtype = DType::bfloat16, .reduce_dtype = DType::float32};
}

void set_each(nn::Module& model, const std::function<void(FSDPModule)>& set) {
  for (auto& [name, module] : model.named_modules())
    if (FSDPState::of(*module)) set(FSDPModule(*module));
}

Trial accumulation() {
  return {.micro_batches = 3, .before = [](nn::Module& model, int micro) {
            FSDPModule(model).set_is_last_backward(micro == 2);
            FSDPModule(model).set_requires_gradient_sync(micro == 2);
          }};
}

Trial accumulation_without_all_reduce() {
  Trial trial = accumulation();
  trial.mesh = {2, 2};
  trial.before = [](nn::Module& model, int micro) {
    FSDPModule(model).set_is_last_backward(micro == 2);
    FSDPModule(model).set_requires_all_reduce(micro == 2);
  };
  return trial;
}

Trial with_post_optim_event() {
  return {.after = [](nn::Module& model, optim::Optimizer& optimizer) {
    optimizer.step();
    FSDPModule(model).set_post_optim_event(Stream::current().record());
    optimizer.zero_grad();
  }};
}

// An optimiser between collectives of its users, as hooks before and after its step.
Trial with_optimizer_hooks() {
  return {.after = [](nn::Module&, optim::Optimizer& optimizer) {
    Tensor norm = zeros({1}, DType::float32);
    all_reduce_(norm, ReduceOp::sum, ProcessGroup::world());
    optimizer.step();
    Work work = all_reduce_async(norm, ReduceOp::max, ProcessGroup::world());
    work.wait();
    optimizer.zero_grad();
  }};
}

Trial with_reduce_buffers(std::int64_t count) {
  return {.layers = 5, .prepare = [count](nn::Module& model) {
            FSDPModule(model).set_reduce_scatter_max_input_buffers(count);
          }};
}

struct NamedTrial {
  const char* name;
  Trial trial;
};

// The suite of programs that run under PyTorch's sanitizer, and others of the kinds that changed
// streams lately.
std::vector<NamedTrial> suite() {
  std::vector<NamedTrial> trials = {
      {"basic", {}},
      {"hsdp", {.mesh = {2, 2}}},
      {"hsdp 1x2", {.mesh = {1, 2}}},
      {"accumulation", accumulation()},
      {"reduce buffers", with_reduce_buffers(2)},
      {"mixed precision", {.options = {.mp_policy = mixed_precision()}}},
      {"hsdp, mixed precision", {.mesh = {2, 2}, .options = {.mp_policy = mixed_precision()}}},
      {"cast gradients", {.options = {.mp_policy = casting_policy()}}},
      {"hsdp, cast gradients", {.mesh = {2, 2}, .options = {.mp_policy = casting_policy()}}},
      {"reshard", {.options = {.reshard_after_forward = true}}},
      {"no reshard", {.options = {.reshard_after_forward = false}}},
      {"smaller mesh", {.mesh = {4}, .options = {.reshard_after_forward = 2}}},
      {"hsdp, no all-reduce", accumulation_without_all_reduce()},
      {"post-optimiser event", with_post_optim_event()},
      {"optimiser hooks", with_optimizer_hooks()},
      {"offload", {.options = {.offload_policy = CPUOffloadPolicy{}}}},
      {"hsdp, offload", {.mesh = {2, 2}, .options = {.offload_policy = CPUOffloadPolicy{}}}},
      {"uneven", {.mesh = {3}, .width = 5}},
      {"one rank", {.mesh = {1}}},
  };
  trials.push_back({"separate group", {.prepare = [](nn::Module& model) {
                      FSDPModule(model).set_separate_reduce_scatter_group(true);
                    }}});
  trials.push_back({"asynchronous", {.prepare = [](nn::Module& model) {
                      FSDPModule(model).set_unshard_async_op(true);
                    }}});
  trials.push_back(
      {"forced sums", {.prepare = [](nn::Module& model) {
         set_each(model, [](FSDPModule module) { module.set_force_sum_reduction_for_comms(true); });
       }}});
  trials.push_back(
      {"prefetch", {.prepare = [](nn::Module& model) {
         nn::Module& layers = model.find("layers");
         FSDPModule(layers.child("0"))
             .set_modules_to_forward_prefetch({&layers.child("1"), &layers.child("2")});
         FSDPModule(layers.child("2"))
             .set_modules_to_backward_prefetch({&layers.child("1"), &layers.child("0")});
       }}});
  return trials;
}

TEST(Streams, TheSuiteHasNoRace) {
  for (const NamedTrial& named : suite()) {
    SCOPED_TRACE(named.name);
    testing::run_mesh_test({.mesh = {numel(named.trial.mesh)}, .device = DeviceModel{}},
                           [&](const DeviceMesh&) { train(named.trial, this_rank()); });
  }
}

// Streams are annotations: gradients and events are those of a world without devices.
TEST(Streams, ChangeNoResult) {
  for (const NamedTrial& named : suite()) {
    auto body = [&](Rank& rank) { train(named.trial, rank); };
    WorldOptions options{.ranks = ranks_of(named.trial)};
    Outcome without = World(options).run(body);
    options.device = DeviceModel{};
    Outcome with = World(options).run(body);
    ASSERT_TRUE(without.ok()) << named.name << report(without);
    EXPECT_EQ(with.data_hash, without.data_hash) << named.name;
    EXPECT_EQ(with.schedule_hash, without.schedule_hash) << named.name;
    EXPECT_EQ(with.peak_bytes, without.peak_bytes) << named.name;
  }
}

// Each wait that is removed shows in some program; the report names both sides.
struct Removal {
  const char* name;
  Trial trial;
  const char* says;
};

TEST(Streams, EachRemovedWaitRaces) {
  Trial cast{.options = {.reshard_after_forward = true, .mp_policy = casting_policy()}};
  for (const Removal& removal : std::vector<Removal>{
           {"root", {.make_streams = make_streams_of<NoWaitForShards>}, "all_gather_copy_in"},
           {"gather", {.make_streams = make_streams_of<NoWaitForGather>}, "all_gather_copy_out"},
           {"copy out",
            {.make_streams = make_streams_of<NoWaitForCopyOut>},
            "all_gather_copy_in on stream all_gather_copy_in writes"},
           {"reduce", {.make_streams = make_streams_of<NoWaitForReduceInput>}, "reduce_scatter"},
       }) {
    EXPECT_EQ(race_in(Trial{}), "");
    std::string race = race_in(removal.trial);
    EXPECT_NE(race.find(removal.says), std::string::npos) << removal.name << ": " << race;
    EXPECT_NE(race.find("[clock/race]"), std::string::npos) << race;
  }
  EXPECT_EQ(race_in(cast), "");
  cast.make_streams = make_streams_of<NoWaitForLastReduction>;
  EXPECT_NE(race_in(cast).find("on stream reduce_scatter"), std::string::npos) << race_in(cast);
}

// A hook runs after the reduce-scatter, on the stream that all-reduces or on its own, and the
// gradients wait for it.
TEST(Streams, HooksRunWhereTheyAreToldTo) {
  for (bool own_stream : {false, true}) {
    Trial trial{.prepare = [own_stream](nn::Module& model) {
      auto own = own_stream ? std::optional(Stream::make("hook")) : std::nullopt;
      set_each(model, [&](FSDPModule module) {
        module.set_all_reduce_hook(
            [own, &model](Tensor& reduced) {
              const CommStreams& streams = FSDPState::of(model)->comm_context()->streams();
              expect(Stream::current() == own.value_or(streams.all_reduce()), "the hook's stream");
              mul_(reduced, 2);
            },
            own);
      });
    }};
    EXPECT_EQ(race_in(trial), "");
    trial.make_streams = make_streams_of<NoWaitForLastReduction>;
    trial.options.mp_policy = casting_policy();
    EXPECT_NE(race_in(trial).find(own_stream ? "on stream hook" : "on stream all_reduce"),
              std::string::npos)
        << race_in(trial);
  }
}

// Counts how often the host waits for gradients before backward has ended.
struct CountsOffloadWaits final : CommStreams {
  explicit CountsOffloadWaits(int& waits) : waits_(waits) {}
  void wait_for_offload(const StreamEvent& offloaded) override {
    ++waits_;
    CommStreams::wait_for_offload(offloaded);
  }

 private:
  int& waits_;
};

// Gradients are copied to pinned memory while backward continues: the host waits for them at its
// end. With other memory each copy makes it wait.
TEST(Streams, CopiesToPinnedMemoryDontHoldUpTheHost) {
  for (bool pins : {true, false}) {
    Outcome outcome = on_devices(2, {}, "fifo", 1, [pins](Rank&) {
      nn::ModulePtr model = build_model(small_model(2, 4));
      shard_layers(*model, {.offload_policy = CPUOffloadPolicy{.pin_memory = pins}});
      int waits = 0, before_end = 0;
      communicate_over(*model, std::make_unique<CountsOffloadWaits>(waits));
      ObserverScope observer([&](const Event& event) {
        if (event.kind == EventKind::finalize && before_end == 0) before_end = waits;
      });
      backward(sum((*model)(formula({2, 4}, {.rule = Rule::unit, .seed = 3}))));
      auto parameters = int(model->parameters().size());
      expect(waits == parameters, "a wait for each gradient");
      expect(pins ? before_end < parameters : before_end == parameters, "waits at the end alone");
    });
    EXPECT_TRUE(outcome.ok()) << pins << report(outcome);
  }
}

// A model whose head isn't part of its forward, so that a loss can be computed chunk by chunk.
struct Trunk final : nn::Module {
  explicit Trunk(std::int64_t width) {
    register_child("body",
                   std::make_shared<nn::Linear>(nn::Linear::Options{.in = width, .out = width}));
    register_child("head",
                   std::make_shared<nn::Linear>(nn::Linear::Options{.in = width, .out = width}));
  }
  nn::Tensors forward(const nn::Tensors& inputs) override { return {child("body")(inputs[0])}; }
};

struct ChunkedLoss {
  Shape mesh = {2};
  MakeStreams make_streams = make_streams_of<CommStreams>;
  FullyShardOptions options = {};
};

std::string race_in_chunked_loss(const ChunkedLoss& loss) {
  return race_in(std::size_t(numel(loss.mesh)), [&](Rank&) {
    Trunk model(8);
    FullyShardOptions options = loss.options;
    options.mesh = mesh_of({.mesh = loss.mesh});
    fully_shard(model.child("body"), options);
    fully_shard(model.child("head"), options);
    fully_shard(model, options);
    communicate_over(model, loss.make_streams());
    optim::AdamW optimizer(model.parameters(), {.lr = 0.01});
    for (int step = 0; step < 4; ++step) {
      Tensor hidden = model(formula({6, 8}, {.rule = Rule::unit, .seed = 5}));
      Tensor cut = hidden.detach();
      set_requires_grad(cut);
      FSDPModule(model).set_is_last_backward(false);
      for (std::int64_t chunk = 0; chunk < 3; ++chunk)
        backward(sum(model.child("head")(cut.narrow({0, 2 * chunk, 2}))));
      FSDPModule(model).set_is_last_backward(true);
      Tensor gradient = grad_of(cut);
      backward(hidden, {.gradients = {gradient}});
      optimizer.step();
      optimizer.zero_grad();
    }
  });
}

TEST(Streams, AChunkedLossHasNoRace) {
  EXPECT_EQ(race_in_chunked_loss({}), "");
  for (const Shape& mesh : {Shape{2}, Shape{2, 2}}) {
    EXPECT_EQ(race_in_chunked_loss({.mesh = mesh}), "");
    EXPECT_EQ(race_in_chunked_loss({.mesh = mesh, .options = {.mp_policy = casting_policy()}}), "");
  }
}

// The gradients of a chunk are added up when the all-reduce is long through: only the event after
// that protects the buffer from the next chunk.
TEST(Streams, AChunkedLossNeedsTheEventAfterAccumulation) {
  std::string race =
      race_in_chunked_loss({.mesh = {2, 2}, .make_streams = make_streams_of<NoWaitAfterAllReduce>});
  EXPECT_NE(race.find("on stream all_reduce"), std::string::npos) << race;
}

// Compute that takes longer than communication hides it: the exposed time is the same for any
// number of layers, namely the first gather and the last reduction.
TEST(Streams, ComputeHidesCommunication) {
  std::vector<double> exposed_us;
  for (std::int64_t layers : {3, 5, 7}) {
    Trial trial{.layers = layers,
                .steps = 1,
                .options = {.reshard_after_forward = true},
                .device = {.launch_us = 1000}};
    trial.after = [](nn::Module&, optim::Optimizer&) {};
    DeviceReport report = report_of(trial);
    EXPECT_TRUE(report.is_complete);
    exposed_us.push_back(report.exposed_communication_us);
  }
  EXPECT_GT(exposed_us[0], 0);
  // Times are below 2^18 microseconds, so each of the additions rounds by less than 2^-34.
  EXPECT_NEAR(exposed_us[1], exposed_us[0], 1e-6);
  EXPECT_NEAR(exposed_us[2], exposed_us[0], 1e-6);
}

// Where communication takes longer, reductions that needn't queue behind gathers, or may have more
// inputs in flight, make a step end earlier.
TEST(Streams, SlowLinksShowWhatHoldsThemUp) {
  auto makespan_us = [](const std::function<void(FSDPModule)>& set) {
    Trial trial{.layers = 6,
                .steps = 1,
                .options = {.reshard_after_forward = true},
                .device = {.launch_us = 1, .topology = {.devices_per_host = 8, .base_us = 100}},
                .prepare = [set](nn::Module& model) { set(FSDPModule(model)); }};
    trial.after = [](nn::Module&, optim::Optimizer&) {};
    return report_of(trial).makespan_us;
  };
  double plain_us = makespan_us([](FSDPModule) {});
  EXPECT_LT(makespan_us([](FSDPModule module) { module.set_separate_reduce_scatter_group(true); }),
            plain_us);
  EXPECT_LE(makespan_us([](FSDPModule module) { module.set_reduce_scatter_max_input_buffers(2); }),
            plain_us);
}

}  // namespace
}  // namespace simmesh::fsdp
