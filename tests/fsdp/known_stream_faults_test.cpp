#include <gtest/gtest.h>

#include "collectives/collective_call.h"
#include "collectives/device_launch.h"
#include "core/ops/compute_mode.h"
#include "tests/fsdp/device_trials.h"

// Faults of streams and memory that users of the real system met, most of them after weeks of wrong
// gradients or failed allocations. Each is put into our program, and shows; the program is right
// without it.
namespace simmesh::fsdp {
namespace {

void expect_race(const Trial& faulty, const std::string& first, const std::string& second) {
  Trial right = faulty;
  right.make_streams = make_streams_of<CommStreams>;
  EXPECT_EQ(race_in(right), "");
  std::string race = race_in(faulty);
  EXPECT_NE(race.find(first), std::string::npos) << race;
  EXPECT_NE(race.find(second), std::string::npos) << race;
}

// Over replicas the reduced buffer lost its last reference at the cast, and the next layer's
// reduction wrote into it while the all-reduce was in flight: all layers got one gradient.
TEST(KnownStreamFaults, TheNextLayerReusesTheBufferOfAnAllReduce) {
  expect_race({.mesh = {2, 2},
               .options = {.mp_policy = casting_policy()},
               .make_streams = make_streams_of<DropsAllReduceBuffer>},
              "reduce_scatter at", "on stream all_reduce");
}

// The first cure held such a buffer for each layer until the end of backward. Ours holds two,
// however many layers there are.
TEST(KnownStreamFaults, BuffersOfAllLayersAreHeld) {
  // A layer's gradients in bfloat16; a rank has half of them.
  constexpr std::int64_t width = 64, block = (2 * width * (width + 2) + 2 * width + 2) * 2 / 2;
  std::vector<std::int64_t> right, faulty;
  for (std::int64_t layers : {4, 5, 6}) {
    Trial trial{.mesh = {2, 2},
                .layers = layers,
                .width = width,
                .steps = 1,
                .options = {.mp_policy = casting_policy()},
                .after = [](nn::Module&, optim::Optimizer&) {}};
    right.push_back(report_of(trial).memory.active.peak);
    trial.make_streams = make_streams_of<HoldsUntilTheEnd>;
    faulty.push_back(report_of(trial).memory.active.peak);
  }
  EXPECT_GT(faulty[0], right[0] + block);
  EXPECT_EQ((faulty[2] - right[2]) - (faulty[1] - right[1]),
            (faulty[1] - right[1]) - (faulty[0] - right[0]));
  EXPECT_GE((faulty[1] - right[1]) - (faulty[0] - right[0]), block);
}

// Gradients of replicas were copied to the host from a buffer that had gone back to the pool.
TEST(KnownStreamFaults, AnOffloadReadsAFreedBuffer) {
  expect_race({.mesh = {2, 2},
               .options = {.offload_policy = CPUOffloadPolicy{}},
               .make_streams = make_streams_of<HoldsUntilAllReduced>},
              "reduce_scatter at", "grad_offload on stream all_reduce");
}

// An optimiser that runs in backward read gradients on the host before they were there.
TEST(KnownStreamFaults, AnOptimizerInBackwardReadsAnUnfinishedCopy) {
  Trial trial{.options = {.offload_policy = CPUOffloadPolicy{}}, .prepare = [](nn::Module& model) {
                for (Tensor parameter : model.parameters())
                  register_accumulate_hook(parameter, [](const Tensor& leaf) {
                    NoGrad mode;
                    sum(grad_of(leaf).local_part());
                  });
              }};
  EXPECT_EQ(race_in(trial), "");
  trial.make_streams = make_streams_of<NoWaitForOffload>;
  std::string race = race_in(trial);
  EXPECT_NE(race.find("on the host reads"), std::string::npos) << race;
  EXPECT_NE(race.find("grad_offload"), std::string::npos) << race;
}

// Inputs of reductions were only given up by the last group of a module; where that one has no
// gradients, all of them were kept. Each is as large as a layer's gradients.
TEST(KnownStreamFaults, OnlyTheLastGroupGivesInputsUp) {
  constexpr std::int64_t width = 64;
  auto peak = [](bool fault, std::int64_t layers) {
    return report_of(
               4,
               [=](Rank&) {
                 TrainingModel plan = small_model(layers, width);
                 nn::ModulePtr model = build_model(plan);
                 DeviceMesh mesh = init_device_mesh({2, 2}, {"one", "two"}), two = mesh["two"];
                 FullyShardOptions options{.mesh = mesh["one"]};
                 // Biases are on a mesh of their own, which makes them the second group.
                 options.shard_placement_fn = [&](const Tensor& parameter) {
                   std::optional<ShardPlacementResult> result(std::in_place);
                   if (parameter.dim() == 1) result->mesh = two;
                   return result;
                 };
                 for (auto& [name, parameter] : model->named_parameters())
                   if (parameter.dim() == 1) set_requires_grad(parameter, false);
                 shard_layers(*model, options);
                 auto faulty = std::make_unique<OnlyTheLastGroupRecycles>();
                 ObserverScope observer(
                     [streams = faulty.get()](const Event& event) { streams->observe(event); });
                 if (fault) communicate_over(*model, std::move(faulty));
                 backward(sum((*model)(formula({2, width}, {.rule = Rule::unit, .seed = 3}))));
               })
        .memory.active.peak;
  };
  constexpr std::int64_t input = 2 * width * (width + 2) * 4;
  std::int64_t with_four = peak(true, 4) - peak(false, 4);
  EXPECT_GT(with_four, 0);
  EXPECT_EQ((peak(true, 5) - peak(false, 5)) - with_four, input);
}

// Shards that inference keeps after forward, on a smaller mesh, were kept in the next step too: it
// ran out of memory then.
TEST(KnownStreamFaults, InferenceOnASmallerMeshFillsTheDevice) {
  for (bool keeps : {false, true}) {
    auto active_peak = [=](int steps) {
      return report_of(4,
                       [=](Rank&) {
                         nn::ModulePtr model = build_model(small_model(3, 32));
                         shard_layers(*model, {.reshard_after_forward = 2});
                         std::vector<Tensor> kept;
                         ObserverScope observer([&](const Event& event) {
                           if (keeps && event.kind == EventKind::reshard)
                             for (const auto& param : event.group->params())
                               kept.push_back(param->post_forward_data());
                         });
                         NoGrad mode;
                         for (int step = 0; step < steps; ++step)
                           (*model)(formula({2, 32}, {.rule = Rule::unit, .seed = 3}));
                       })
          .memory.active.peak;
    };
    // The first step is special: before it nothing is kept.
    EXPECT_EQ(active_peak(3) > active_peak(2), keeps);
  }
}

// Each module's gather says of its buffer that the communicator uses it too.
void gather_by_record_stream(nn::Module& model) {
  AllGather recording;
  recording.allocate = [](const Shape& shape, DType dtype) { return empty(DimSpan(shape), dtype); };
  recording.call = [](const AllGatherCall& gather) {
    CollectiveCall call{
        .op = CollectiveOp::all_gather, .inputs = {&gather.input, 1}, .site = CallSite::here()};
    Work work = start_collective(gather.group, call, {.into = gather.output});
    communicator_stream(gather.group, *Clock::active()).uses(gather.output.storage()->address());
    return work;
  };
  for (auto& [name, module] : model.named_modules())
    if (FSDPState::of(*module)) FSDPModule(*module).set_custom_all_gather(recording);
}

// With record_stream, the buffers of asynchronous gathers only come back when the host knows that
// the collective is through; as it runs ahead, each gather gets a new one.
TEST(KnownStreamFaults, RecordStreamAllocatesTooMuch) {
  constexpr std::int64_t buffer = 2 * 48 * 50 * 4;  // of a layer
  std::vector<std::int64_t> reserved;
  for (bool records : {false, true}) {
    for (std::int64_t layers : {4, 8}) {
      Trial trial{.layers = layers,
                  .width = 1024,
                  .steps = 1,
                  .options = {.reshard_after_forward = true},
                  .prepare = [records](nn::Module& model) {
                    FSDPModule(model).set_unshard_async_op(true);
                    if (records) gather_by_record_stream(model);
                  }};
      trial.after = [](nn::Module&, optim::Optimizer&) {};
      DeviceReport report = report_of(trial);
      std::int64_t shards = layers * buffer / 2;
      reserved.push_back(report.memory.active.peak - 2 * shards);
    }
  }
  EXPECT_GT(reserved[2], reserved[0]);
  EXPECT_GT(reserved[3] - reserved[2], reserved[1] - reserved[0] + 4 * buffer);
}

// The input of a reduction went back to the pool while it was read, and was overwritten: with
// memory that is filled when it is allocated, gradients became NaN.
TEST(KnownStreamFaults, AReductionReadsAFreedInput) {
  expect_race({.make_streams = make_streams_of<DropsReduceInput>}, "on stream compute",
              "reduce_scatter at");
}

// Several roots have streams of their own, and each stream pools of its own. One context for all
// saves them.
TEST(KnownStreamFaults, SeveralRootsFragmentMemory) {
  auto reserved = [](bool shares) {
    return report_of(2,
                     [=](Rank&) {
                       std::vector<nn::ModulePtr> roots;
                       std::vector<nn::Module*> modules;
                       for (int i = 0; i < 3; ++i) {
                         roots.push_back(build_model(small_model(2, 32)));
                         shard_layers(*roots.back());
                         modules.push_back(roots.back().get());
                       }
                       if (shares) share_comm_ctx(modules);
                       for (const nn::ModulePtr& root : roots)
                         backward(sum((*root)(formula({2, 32}, {.rule = Rule::unit, .seed = 3}))));
                     })
        .memory.reserved.peak;
  };
  std::int64_t apart = reserved(false), shared = reserved(true);
  RecordProperty("reserved_bytes_apart", std::to_string(apart));
  RecordProperty("reserved_bytes_shared", std::to_string(shared));
  EXPECT_LT(shared, apart);
}

// Inputs of reductions come from the pool of the stream that reduces.
void reduce_from_other_pool(nn::Module& model) {
  auto allocate = [&model](const Shape& shape, DType dtype) {
    CachingAllocator& allocator = *Ledger::active()->allocator();
    const Stream& other = FSDPState::of(model)->comm_context()->streams().reduce_scatter();
    StreamIndex own = allocator.stream();
    allocator.set_stream(other.index());
    Tensor buffer = empty(DimSpan(shape), dtype);
    allocator.set_stream(own);
    return buffer;
  };
  for (auto& [name, module] : model.named_modules())
    if (FSDPState::of(*module))
      FSDPModule(*module).set_custom_reduce_scatter({.allocate = allocate});
}

// A gradient buffer of the wrong stream's pool: what that stream still does with the memory isn't
// ordered before the stream that writes it now.
TEST(KnownStreamFaults, ABufferIsOfTheWrongPool) {
  Trial trial{.options = {.mp_policy = casting_policy()}, .prepare = [](nn::Module& model) {
                FSDPModule(model).set_reduce_scatter_max_input_buffers(2);
              }};
  EXPECT_EQ(race_in(trial), "");
  trial.prepare = [right = trial.prepare](nn::Module& model) {
    right(model);
    reduce_from_other_pool(model);
  };
  std::string race = race_in(trial);
  EXPECT_NE(race.find("reduce_scatter_copy_in on stream compute"), std::string::npos) << race;
  EXPECT_NE(race.find("on stream reduce_scatter"), std::string::npos) << race;
}

}  // namespace
}  // namespace simmesh::fsdp
