#include <gmock/gmock.h>

#include "gate/explain.h"
#include "gate/file.h"
#include "gate/run_gate.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::ElementsAre;
using testing::exact_mode;
using testing::expect_refused;
using ::testing::HasSubstr;

const std::string equals_one_device = exact_mode + "[expect]\nsame_as = [\"single_device\"]\n";

// Returns the text of a gate with a small MLP; `options` go into the key fsdp and `extra` before
// it.
std::string perceptron(const std::string& options, const std::string& extra) {
  return "[model]\nwidth = 6\nhidden = 5\nout = 4\nlayers = 3\ninit = { scale = 0.5 }\n"
         "[data]\nbatch = 16\n" +
         extra + "[parallel]\nfsdp = { " + options + " }\n";
}

GateFile fsdp_gate(const std::string& text) { return gate_from_text(text, "g.toml"); }

GateResult run_sharded(const std::string& text) { return run_gate(fsdp_gate(text)); }

std::vector<std::vector<std::string>> wraps_of(const std::string& text) {
  GateFile gate = fsdp_gate(text);
  FsdpPlan plan =
      fsdp_plan(*gate.parallel.fsdp, gate.mesh, model_node(gate.model, gate.model_use()));
  std::vector<std::vector<std::string>> wraps;
  for (const WrapPlan& wrap : plan.wraps) wraps.push_back(wrap.modules);
  return wraps;
}

// The root is wrapped last: otherwise parameters stay unsharded, or a module is wrapped after a
// module that contains it.
TEST(GateFsdp, WrapsFromTheInsideOutwards) {
  using Names = std::vector<std::string>;
  EXPECT_THAT(wraps_of("[model]\nkind = \"transformer\"\n[parallel]\nfsdp = {}\n"),
              ElementsAre(Names{"block0"}, Names{"block1"}, Names{""}));
  EXPECT_THAT(wraps_of(perceptron("", "")),
              ElementsAre(Names{"fc0"}, Names{"fc1"}, Names{"fc2"}, Names{""}));
  EXPECT_THAT(wraps_of(perceptron("wrap = \"root\"", "")), ElementsAre(Names{""}));
  EXPECT_THAT(wraps_of(perceptron("wrap = [[\"fc2\", \"fc0\"], \"act1\"]", "")),
              ElementsAre(Names{"fc2", "fc0"}, Names{"act1"}, Names{""}));
}

TEST(GateFsdp, OnlyARootThatIsAloneTakesTheMode) {
  auto modes = [](const std::string& options) {
    GateFile gate = fsdp_gate(perceptron(options, ""));
    FsdpPlan plan =
        fsdp_plan(*gate.parallel.fsdp, gate.mesh, model_node(gate.model, gate.model_use()));
    return std::make_pair(plan.wraps.front().reshard_after_forward,
                          plan.wraps.back().reshard_after_forward);
  };
  EXPECT_EQ(modes("reshard_after_forward = false"),
            std::make_pair(PlainValue(false), PlainValue()));
  EXPECT_EQ(modes("wrap = \"root\", reshard_after_forward = 1"),
            std::make_pair(PlainValue(std::int64_t(1)), PlainValue(std::int64_t(1))));
}

// The largest dim is used only if it divides evenly, because apart from dim 0 no other dim can be
// sharded.
TEST(GateFsdp, ShardsTheLargestDimThatDivides) {
  GateFile gate = fsdp_gate(perceptron("shard_placement = \"largest\"", "[mesh]\nshape = [3]\n"));
  FsdpPlan plan =
      fsdp_plan(*gate.parallel.fsdp, gate.mesh, model_node(gate.model, gate.model_use()));
  const auto& dims = plan.wraps[0].shard_dims;
  EXPECT_EQ(dims.at("fc0.weight"), PlainValue(std::int64_t(1)));  // 5 x 6
  EXPECT_EQ(dims.at("fc1.weight"), PlainValue(std::int64_t(0)));  // 5 x 5
  EXPECT_EQ(dims.at("fc2.weight"), PlainValue(std::int64_t(0)));  // 4 x 5
}

// In exact arithmetic a sharded run has the bits of one device, with any options.
TEST(GateFsdp, EveryOptionGivesTheBitsOfOneDevice) {
  for (const char* options :
       {"", "wrap = \"root\"", "wrap = [[\"fc0\", \"fc1\"]]", "reshard_after_forward = true",
        "reshard_after_forward = false", "reshard_after_forward = 2", "offload = \"cpu\"",
        "shard_placement = \"largest\"", "sync = \"every\"", "sync = \"all_reduce_last\"",
        "forward_prefetch = 1, backward_prefetch = 2", "reshard_after_backward = false",
        "force_sum_reduction_for_comms = true", "reduce_scatter_unused_params = true",
        "keep_unsharded_storage = true", "finalize_backward = \"manual\"",
        "sync = \"every\", finalize_backward = \"async\"", "grad_dtype = \"any\""})
    for (const char* mesh : {"[mesh]\nshape = [4]\n[train]\nmicro_batches = 2\nsteps = 2\n",
                             "[mesh]\nshape = [2, 2]\nnames = [\"a\", \"b\"]\n[train]\n"
                             "micro_batches = 2\nsteps = 2\noptimizer = { kind = \"adamw\" }\n"}) {
      std::string all = options;
      if (std::string_view(mesh).find("names") != std::string_view::npos)
        all += all.empty() ? "mesh = [\"a\", \"b\"]" : ", mesh = [\"a\", \"b\"]";
      GateResult result = run_sharded(perceptron(all, mesh) + equals_one_device);
      EXPECT_EQ(result.failed(), 0) << all << "\n" << testing::text_of(result);
    }
}

TEST(GateFsdp, EveryModelTrains) {
  for (const char* kind : {"mlp", "linear_stack", "transformer", "moe"})
    for (const char* dtype : {"float32", "float64", "bfloat16", "float16"}) {
      GateResult result = run_sharded(
          fmt::format("[mesh]\nshape = [2]\n[model]\nkind = \"{}\"\ndtype = \"{}\"\nlayers = 2\n"
                      "width = 8\ninit = {{ scale = 0.25 }}\n[data]\nbatch = 8\n[parallel]\n"
                      "fsdp = {{}}\n[train]\nclip_grad_norm = 0.5\n{}",
                      kind, dtype, equals_one_device));
      EXPECT_EQ(result.failed(), 0) << kind << " " << dtype << "\n" << testing::text_of(result);
    }
}

// If this fails, gradients overflow, and a gate passes with losses of 0.
TEST(GateFsdp, RefusesFactorsThatOverflow) {
  for (const char* factor : {"1e-60", "5e-324", "-1.0", "nan", "inf", "1e10"})
    testing::expect_refused("[mesh]\nshape = [2]\n[parallel]\nfsdp = { gradient_divide_factor = " +
                                std::string(factor) + " }\n",
                            "gradient_divide_factor");
}

// Mixed precision changes bits, so this only checks that the run ends and that no divide factor
// changes the loss of the first step.
TEST(GateFsdp, MixedPrecisionAndFactorsRun) {
  double loss = run_sharded(perceptron("", "[mesh]\nshape = [2]\n")).losses.at(0);
  for (const char* options : {"param_dtype = \"bfloat16\", reduce_dtype = \"float32\"",
                              "param_dtype = \"float16\", output_dtype = \"float32\"",
                              "gradient_divide_factor = 3.0", "grad_dtype = \"bfloat16\""}) {
    GateResult result = run_sharded(perceptron(options, "[mesh]\nshape = [2]\n"));
    EXPECT_EQ(result.failed(), 0) << testing::text_of(result);
    EXPECT_NEAR(result.losses.at(0), loss, 0.02 * loss) << options;
  }
}

// Gathers for reports don't count, so the figures are those of the training itself: three groups,
// each gathered in forward and, except for the root, again in backward.
TEST(GateFsdp, CountsWhatTrainingCommunicates) {
  GateResult result = run_sharded(
      "[mesh]\nshape = [2]\n[model]\nkind = \"transformer\"\n"
      "[parallel]\nfsdp = { reshard_after_forward = true }\n");
  EXPECT_EQ(result.collectives.at("all_gather"), 5);
  EXPECT_EQ(result.collectives.at("reduce_scatter"), 3);
  EXPECT_FALSE(result.collectives.count("all_reduce"));
  EXPECT_EQ(result.gathers->started(), 5);
  EXPECT_EQ(result.gathers->unused(), 0);
  EXPECT_THAT(testing::text_of(result),
              HasSubstr("all-gathers of parameters: 5 on each rank, 0 of them unused\n"));
}

// Sharding saves memory, and gathering results for a report must not hide that.
TEST(GateFsdp, NeedsLessMemoryThanReplicas) {
  std::string text =
      "[mesh]\nshape = [4]\n[model]\nkind = \"linear_stack\"\nlayers = 6\nwidth = 40\n"
      "[data]\nbatch = 4\n[train]\nsteps = 3\noptimizer = { kind = \"adam\" }\n[parallel]\n";
  std::int64_t replicated = run_sharded(text + "replicate = {}\n").peak_bytes;
  std::int64_t sharded = run_sharded(text + "fsdp = {}\n").peak_bytes;
  EXPECT_LT(2 * sharded, replicated);
}

TEST(GateFsdp, RefusesWhatTheMeshAndTheModelLack) {
  const std::string mesh = "[mesh]\nshape = [2, 4]\nnames = [\"dp\", \"tp\"]\n";
  expect_refused(perceptron("mesh = \"pp\"", mesh), "one of dp, tp, got \"pp\"");
  expect_refused(perceptron("mesh = [\"dp\", \"pp\"]", mesh), "some of dp, tp, got 'pp'");
  expect_refused(perceptron("mesh = [\"tp\", \"dp\"]", mesh), "in the order of the mesh");
  expect_refused(perceptron("mesh = []", mesh), "one dim, or two");
  expect_refused(perceptron("mesh = \"tp\", reshard_after_forward = 3", mesh),
                 "a divisor of the shard mesh size 4, got 3");
  expect_refused(perceptron("reshard_after_forward = \"no\"", mesh), "got \"no\"");
  expect_refused(perceptron("wrap = \"layers\"", ""), "one of blocks, root");
  expect_refused(perceptron("wrap = [\"fc\"]", ""), "got 'fc'; the nearest one is 'fc0'");
  expect_refused(perceptron("wrap = [\"\"]", ""), "modules of the model that can be called");
  expect_refused(perceptron("wrap = [\"fc0\", \"fc0\"]", ""), "each module once, got 'fc0' twice");
  expect_refused(perceptron("wrap = [[]]", ""), "groups of at least one module");
  expect_refused(perceptron("ignored_params = [\"fc0.weigth\"]", ""),
                 "the nearest one is 'fc0.weight'");
  expect_refused(perceptron("param_dtype = \"int64\"", ""), "one of none, float64");
  expect_refused(perceptron("sync = \"never\"", ""), "one of every, last, all_reduce_last");
  expect_refused(perceptron("grad_dtype = \"int64\"", ""), "one of default, any, float64");
  expect_refused(perceptron("mesh = [\"dp\", \"tp\"], sync = \"all_reduce_last\", "
                            "finalize_backward = \"manual\"",
                            mesh),
                 "expected automatic where sync is all_reduce_last, got manual");
  expect_refused(perceptron("reshard_afterforward = true", ""),
                 "the nearest known key is 'parallel.fsdp.reshard_after_forward'");
  expect_refused(perceptron("", "") + "replicate = {}\n", "either fsdp or replicate");
  const std::string blocks = "[model]\nkind = \"transformer\"\n[parallel]\n";
  expect_refused(blocks + "fsdp = { wrap = [\"block0\", \"block0.mlp\"] }\n",
                 "inner modules before outer ones, got 'block0' before 'block0.mlp'");
  expect_refused(blocks + "fsdp = { wrap = [[\"block0\", \"block0.mlp\"]] }\n",
                 "inner modules before outer ones");
}

TEST(GateFsdp, RowsAreCutOverItsDimsAlone) {
  GateFile gate = fsdp_gate(perceptron("mesh = [\"a\", \"c\"]",
                                       "[mesh]\nshape = [2, 3, 4]\nnames "
                                       "= [\"a\", \"b\", \"c\"]\n"));
  EXPECT_EQ(gate.parts(), 8);
  EXPECT_EQ(gate.ranks(), 24);
}

}  // namespace
}  // namespace simmesh
