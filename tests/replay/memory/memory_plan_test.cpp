#include "replay/memory/memory_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "core/check/error.h"
#include "replay/job/trace_job.h"
#include "replay/trace/replay_list.h"

namespace simmesh::replay {

namespace {

// PlannedView is a float32 tensor of one dim, which is its own view of a storage.
struct PlannedView {
  std::int64_t storage = 0;
  std::int64_t elements = 10;
  std::int64_t offset = 0;
  std::int64_t item_bytes = 4;
  std::string device = "cuda:0";
  std::optional<std::int64_t> stride = {};
  bool is_defined = true;
};

// PlanTrace makes a trace of operators below a root; the first has id 2.
class PlanTrace {
 public:
  PlanTrace() {
    trace_.schema = {.text = "1.1.1", .major = 1, .minor = 1, .patch = 1};
    node("root");
  }

  void op(const std::vector<PlannedView>& inputs, const std::vector<PlannedView>& outputs,
          std::string_view name = "aten::op") {
    TraceRange in = tensors(inputs), out = tensors(outputs);
    TraceNode& made = node(name);
    made.op_schema = trace_.texts.id_of("aten::op() -> ()");
    made.inputs = in;
    made.outputs = out;
  }
  void step() { node("ProfilerStep#1"); }

  const ExecutionTrace& trace() const { return trace_; }
  MemoryPlan plan(const MemoryPlanOptions& options = {}) const {
    return memory_plan(trace_, options);
  }

 private:
  TraceNode& node(std::string_view name) {
    trace_.nodes.push_back({.id = std::int64_t(trace_.nodes.size()) + 1,
                            .parent = 1,
                            .name = trace_.texts.id_of(name)});
    return trace_.nodes.back();
  }

  TraceRange numbers(std::int64_t number) {
    trace_.numbers.push_back(number);
    return {std::uint32_t(trace_.numbers.size() - 1), std::uint32_t(trace_.numbers.size())};
  }

  TraceRange tensors(const std::vector<PlannedView>& views) {
    TraceRange range{.begin = std::uint32_t(trace_.tensors.size())};
    for (const PlannedView& view : views) {
      TraceTensor tensor{.tensor = 100 + view.storage,
                         .storage = view.storage,
                         .offset = view.offset,
                         .elements = view.elements,
                         .item_bytes = view.item_bytes,
                         .device = trace_.texts.id_of(view.device),
                         .shape = numbers(view.elements),
                         .is_defined = view.is_defined};
      if (view.stride) tensor.strides = numbers(*view.stride);
      trace_.tensors.push_back(tensor);
    }
    range.end = std::uint32_t(trace_.tensors.size());
    return range;
  }

  ExecutionTrace trace_;
};

// Would fail if any figure differed from the answer by hand: 1 is given, 2 and 3 are made, 2 dies
// at the node 3, where 1 and 3 are live too.
TEST(ReplayMemoryPlan, IsWhatFollowsByHand) {
  PlanTrace made;
  made.op({{.storage = 1}}, {{.storage = 2, .elements = 100}});
  made.op({{.storage = 2, .elements = 100}}, {{.storage = 3, .elements = 20}});
  made.op({{.storage = 3, .elements = 20}, {.storage = 1}}, {});
  MemoryPlan plan = made.plan();
  EXPECT_EQ(plan.operators, 3u);
  EXPECT_EQ(plan.comm_operators, 0u);
  ASSERT_EQ(plan.storages.size(), 3u);
  EXPECT_EQ(plan.storages[1].bytes, 400);
  EXPECT_EQ(plan.storages[1].first_node, 2);
  EXPECT_EQ(plan.storages[1].last_node, 3);
  EXPECT_FALSE(plan.storages[1].is_leaf);
  EXPECT_TRUE(plan.storages[0].is_leaf);
  EXPECT_EQ(plan.sum_bytes, 520);
  EXPECT_EQ(plan.pre_views, 1u);
  EXPECT_EQ(plan.pre_storages, 1u);
  EXPECT_EQ(plan.pre_bytes, 40);
  EXPECT_EQ(plan.lazy_peak_bytes, 520);
  EXPECT_EQ(plan.lazy_peak_node, 3);
  using Curve = std::vector<MemoryPoint>;
  EXPECT_EQ(plan.lazy_curve, (Curve{{2, 440}, {3, 520}, {4, 120}}));
  EXPECT_EQ(plan.pre_curve, (Curve{{2, 440}, {3, 520}, {4, 520}}));
  EXPECT_EQ(plan.generations, 3u);
}

// Would fail if views and storages were mixed up: another view of a storage that an operator made
// must exist beforehand, as PyTorch's tool has it, the storage itself doesn't.
TEST(ReplayMemoryPlan, CountsViewsAndStoragesApart) {
  PlanTrace made;
  made.op({}, {{.storage = 1, .elements = 100}});
  made.op({{.storage = 1, .elements = 10, .offset = 5}}, {});
  MemoryPlan plan = made.plan();
  EXPECT_EQ(plan.pre_views, 1u);
  EXPECT_EQ(plan.pre_bytes, 400);
  EXPECT_EQ(plan.leaf_storages, 0u);
  EXPECT_EQ(plan.leaf_bytes, 0);
}

// Would fail if the output of a communication didn't exist beforehand, or if it had to although it
// was made before.
TEST(ReplayMemoryPlan, HasWhatCommunicationsNeed) {
  PlanTrace made;
  made.op({}, {{.storage = 1}});
  made.op({{.storage = 1}}, {{.storage = 2}}, "record_param_comms");
  MemoryPlan plan = made.plan();
  EXPECT_EQ(plan.comm_operators, 1u);
  EXPECT_EQ(plan.pre_views, 1u);
  EXPECT_EQ(plan.leaf_storages, 1u);
  EXPECT_FALSE(plan.storages[0].has_pre_view);
  EXPECT_TRUE(plan.storages[1].has_pre_view);
}

TEST(ReplayMemoryPlan, LooksAtOneDevice) {
  PlanTrace made;
  made.op({{.storage = 1}, {.storage = 1, .device = "cpu"}, {.storage = 5, .is_defined = false}},
          {{.storage = 2, .device = "cuda:1"}});
  EXPECT_EQ(made.plan().storages.size(), 2u);
  EXPECT_EQ(made.plan({.device = "cpu"}).storages.size(), 1u);
  EXPECT_EQ(made.plan({.device = "cuda:1"}).storages.size(), 1u);
  EXPECT_EQ(made.plan({.device = ""}).storages.size(), 3u);
  EXPECT_EQ(made.plan({.device = "xpu"}).lazy_peak_bytes, 0);
}

// Would fail if the end of a view ignored its strides, or took them where they aren't wanted.
TEST(ReplayMemoryPlan, FollowsStrides) {
  PlanTrace made;
  made.op({{.storage = 1, .elements = 10, .offset = 2, .stride = 3}}, {});
  EXPECT_EQ(made.plan().sum_bytes, (2 + 1 + 9 * 3) * 4);
  EXPECT_EQ(made.plan({.uses_strides = false}).sum_bytes, 12 * 4);
}

TEST(ReplayMemoryPlan, LooksAtOneStep) {
  PlanTrace made;
  made.op({}, {{.storage = 1}});
  made.step();
  made.op({{.storage = 1}}, {{.storage = 2}});
  EXPECT_EQ(made.plan().pre_views, 0u);
  EXPECT_EQ(made.plan({.step = 0}).pre_views, 1u);
  EXPECT_EQ(made.plan({.step = 0}).operators, 1u);
  EXPECT_THROW(made.plan({.step = 1}), Error);
}

// Would fail if an id that comes back for other memory were one storage where that isn't wanted:
// the id 1 is first 40 bytes, then, freed and made anew, 400.
TEST(ReplayMemoryPlan, SplitsGenerationsWhereAsked) {
  PlanTrace made;
  made.op({}, {{.storage = 1}});
  made.op({{.storage = 1}}, {{.storage = 2}});
  made.op({{.storage = 2}}, {{.storage = 1, .elements = 100}});
  MemoryPlan joined = made.plan(), split = made.plan({.splits_generations = true});
  EXPECT_EQ(joined.storages.size(), 2u);
  EXPECT_EQ(joined.generations, 3u);
  EXPECT_EQ(joined.lazy_peak_bytes, 440);
  EXPECT_EQ(joined.lazy_peak_node, 3);
  EXPECT_EQ(split.storages.size(), 3u);
  EXPECT_EQ(split.generations, 3u);
  EXPECT_EQ(split.storages[2].storage, 1);
  EXPECT_EQ(split.storages[2].generation, 1);
  EXPECT_EQ(split.sum_bytes, 480);
  EXPECT_EQ(split.lazy_peak_bytes, 440);
  EXPECT_EQ(split.lazy_peak_node, 4);
}

TEST(ReplayMemoryPlan, RefusesMoreThanAnyMemory) {
  PlanTrace made;
  std::int64_t half = std::int64_t(1) << 62;
  made.op({{.storage = 1, .elements = half, .item_bytes = 1},
           {.storage = 2, .elements = half, .item_bytes = 1}},
          {});
  EXPECT_THROW(made.plan(), Error);
}

// ByDefinition computes the figures as the recorded cases define them, one by one and slowly.
struct ByDefinition {
  std::map<std::int64_t, std::int64_t> sizes;
  std::int64_t pre_views = 0;
  std::set<std::int64_t> pre, leaf;
  std::int64_t peak = 0, peak_node = 0;

  explicit ByDefinition(const ExecutionTrace& trace) {
    std::vector<const TraceNode*> ops;
    for (std::size_t i = 1; i < trace.nodes.size(); ++i) ops.push_back(&trace.nodes[i]);
    auto views = [&](const TraceNode* op, bool is_input) {
      return trace.tensors_in(is_input ? op->inputs : op->outputs);
    };
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
    std::map<std::int64_t, std::size_t> last;
    for (std::size_t place = 0; place < ops.size(); ++place)
      for (bool is_input : {true, false})
        for (const TraceTensor& view : views(ops[place], is_input)) {
          std::int64_t& size = sizes[view.storage];
          bool is_before = is_input || is_communication(trace, *ops[place]);
          if (last.find(view.storage) == last.end() && is_before) leaf.insert(view.storage);
          if (seen.insert({view.storage, view.offset, view.elements}).second && is_before) {
            ++pre_views;
            pre.insert(view.storage);
          }
          size = std::max(size, (view.offset + view.elements) * view.item_bytes);
          last[view.storage] = place;
        }
    std::set<std::int64_t> live;
    for (std::size_t place = 0; place < ops.size(); ++place) {
      for (bool is_input : {true, false})
        for (const TraceTensor& view : views(ops[place], is_input)) live.insert(view.storage);
      std::int64_t bytes = sum(live);
      if (bytes > peak) {
        peak = bytes;
        peak_node = ops[place]->id;
      }
      std::erase_if(live, [&](std::int64_t storage) { return last[storage] == place; });
    }
  }

  std::int64_t sum(const std::set<std::int64_t>& storages) const {
    std::int64_t bytes = 0;
    for (std::int64_t storage : storages) bytes += sizes.at(storage);
    return bytes;
  }
};

// Would fail if a figure of a random trace differed from the definitions.
TEST(ReplayMemoryPlan, IsWhatTheDefinitionsSay) {
  std::mt19937 random(17);
  auto pick = [&](unsigned below) { return std::int64_t(random() % below); };
  for (int round = 0; round < 2000; ++round) {
    PlanTrace made;
    for (std::int64_t ops = pick(12); ops > 0; --ops) {
      std::vector<PlannedView> sides[2];
      for (std::vector<PlannedView>& side : sides)
        for (std::int64_t count = pick(4); count > 0; --count)
          side.push_back({.storage = 1 + pick(6), .elements = pick(3) * 7, .offset = pick(3)});
      made.op(sides[0], sides[1], pick(4) == 0 ? "record_param_comms" : "aten::op");
    }
    MemoryPlan plan = made.plan();
    ByDefinition expected(made.trace());
    ASSERT_EQ(plan.storages.size(), expected.sizes.size()) << round;
    EXPECT_EQ(plan.pre_views, std::size_t(expected.pre_views));
    EXPECT_EQ(plan.pre_storages, expected.pre.size());
    EXPECT_EQ(plan.pre_bytes, expected.sum(expected.pre));
    EXPECT_EQ(plan.leaf_storages, expected.leaf.size());
    EXPECT_EQ(plan.leaf_bytes, expected.sum(expected.leaf));
    EXPECT_EQ(plan.lazy_peak_bytes, expected.peak);
    EXPECT_EQ(plan.lazy_peak_node, expected.peak_node);
    EXPECT_GE(plan.generations, plan.storages.size());
    if (!plan.pre_curve.empty()) {
      EXPECT_EQ(plan.pre_curve.back().bytes, plan.sum_bytes);
    }
    if (HasFailure()) FAIL() << "round " << round;
  }
}

// Would fail if a published job's plan differed from the known one.
TEST(ReplayMemoryPlan, OfARealJobIsWhatWasRecorded) {
  std::vector<std::string> paths = {SIMMESH_SOURCE_DIR
                                    "/tests/cases/replay/resnet_2gpu_et.1.1.0.json.gz"};
  TraceJob job = read_job(paths);
  const ExecutionTrace& trace = job.ranks.at(0).trace;
  MemoryPlan plan = memory_plan(trace, {.step = 0});
  EXPECT_EQ(plan.operators, 1237u);
  EXPECT_EQ(plan.comm_operators, 9u);
  EXPECT_EQ(plan.storages.size(), 809u);
  EXPECT_EQ(plan.pre_storages, 646u);
  EXPECT_EQ(plan.sum_bytes, 3709159128);
  EXPECT_EQ(plan.lazy_peak_bytes, 3390444936);
  MemoryPlan split = memory_plan(trace, {.step = 0, .splits_generations = true});
  EXPECT_EQ(split.storages.size(), plan.generations);
  EXPECT_LE(split.lazy_peak_bytes, plan.lazy_peak_bytes);
  MemoryPlan whole = memory_plan(trace);
  EXPECT_EQ(whole.storages.size(), 872u);
  EXPECT_EQ(whole.generations, 906u);  // 34 ids come back for larger memory
}

}  // namespace

}  // namespace simmesh::replay
