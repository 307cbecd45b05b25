#include "gate/tables/expert.h"

#include <gtest/gtest.h>

#include "core/autograd/variable.h"
#include "core/ops/elementwise/pointwise.h"
#include "gate/explain.h"
#include "gate/file.h"
#include "gate/run_gate.h"
#include "gate/task.h"
#include "tests/gate/gate_texts.h"
#include "training/run_record.h"

namespace simmesh {
namespace {

// The meshes of the tests, with two or three dims.
const std::string flat_mesh = "shape = [2, 2]\nnames = [\"dp\", \"ep\"]\n";
const std::string deep_mesh = "shape = [2, 2, 2]\nnames = [\"dp\", \"cp\", \"ep\"]\n";

struct ExpertGate {
  std::string mesh = flat_mesh;
  std::string parallel = "expert = {}\n";
  std::string model = "experts = 3\n";  // two ranks have two and one of them
  std::string rest = "[expect]\nsame_as = [\"single_device\"]\nschedules = 3\n";

  std::string text() const {
    return "[mesh]\n" + mesh +
           "[model]\nkind = \"moe\"\nlayers = 1\nwidth = 8\nhidden = 6\nvocabulary = 11\n"
           "init = { scale = 0.3 }\n" +
           model + "[data]\nbatch = 16\nsequence = 4\n[parallel]\n" + parallel +
           "[train]\nsteps = 3\nmicro_batches = 2\noptimizer = { kind = \"adamw\" }\n"
           "clip_grad_norm = 0.1\n[arithmetic]\nmode = \"exact\"\n" +
           rest;
  }
  GateFile file() const { return gate_from_text(text(), "a.toml"); }
};

void expect_refused_expert(const ExpertGate& gate, std::string_view words) {
  testing::expect_refused(gate.text(), words);
}

TEST(GateExpert, ReadsItsKey) {
  GateFile gate = ExpertGate().file();
  ASSERT_TRUE(gate.parallel.expert);
  EXPECT_EQ(gate.parallel.expert->mesh, "ep");
  EXPECT_EQ(gate.parallel.form(), "expert");
  EXPECT_EQ(expert_entry({"dp"}), "{ mesh = \"dp\" }");
  EXPECT_EQ(expert_entry({"dp", false}), "{ mesh = \"dp\", tensor_parallel = false }");
  std::string shown = explain(ExpertGate{.parallel = "expert = { mesh = \"dp\" }\n"}.file());
  EXPECT_NE(shown.find("expert = { mesh = \"dp\" }"), std::string::npos) << shown;
}

// Each rank of the dim has rows of its own.
TEST(GateExpert, CutsRowsOverItsDimToo) {
  auto parts = [](const std::string& parallel) {
    return ExpertGate{.mesh = deep_mesh, .parallel = parallel}.file().parts();
  };
  EXPECT_EQ(parts("expert = {}\n"), 2);
  EXPECT_EQ(parts("expert = {}\nreplicate = { mesh = \"dp\" }\n"), 4);
  EXPECT_EQ(parts("expert = {}\nreplicate = { mesh = \"ep\" }\n"), 2);
  EXPECT_EQ(parts("expert = {}\nfsdp = { mesh = [\"dp\", \"cp\"] }\n"), 8);
  EXPECT_EQ(parts("expert = {}\nfsdp = { mesh = [\"cp\", \"ep\"] }\n"), 4);
  EXPECT_EQ(parts("expert = { mesh = \"cp\" }\ncontext = { mesh = \"cp\" }\n"), 1);
  EXPECT_EQ(parts("expert = {}\ntensor = {}\nfsdp = {}\n"), 2);  // their ranks take the same rows
}

TEST(GateExpert, RefusesWhatDoesNotGoTogether) {
  expect_refused_expert({.parallel = "expert = { mesh = \"xp\" }\n"}, "one of dp, ep, got \"xp\"");
  expect_refused_expert({.parallel = "expert = { tokens = 1 }\n"},
                        "the nearest known key is 'parallel.expert.mesh'");
  expect_refused_expert({.parallel = "expert = { tensor_parallel = false }\n"},
                        "no such key without parallel.tensor");
  expect_refused_expert(
      {.parallel = "expert = {}\nfsdp = { wrap = [\"block0.mlp.experts.expert1\"] }\n"},
      "no single expert in fsdp.wrap");
  expect_refused_expert({.mesh = "shape = [2, 4]\nnames = [\"dp\", \"ep\"]\n",
                         .parallel = "expert = {}\nfsdp = { mesh = [\"dp\", \"ep\"], "
                                     "reshard_after_forward = 4 }\n"},
                        "that divides the 2 shards of experts, got 4");
  testing::expect_refused("[mesh]\nshape = [2]\n[parallel]\nexpert = {}\n",
                          "a model with experts, got one without");
}

// Experts are sharded over the other dims of fsdp.mesh, and all other parameters are replicated
// over the experts' dim. Otherwise gradients would be sums over some of the rows only.
TEST(GateExpert, PlansFullyShard) {
  auto plan_of = [](const std::string& parallel) {
    GateFile gate = ExpertGate{.mesh = deep_mesh, .parallel = parallel}.file();
    return gate_task(gate).plan;
  };
  using Names = std::vector<std::string>;
  const std::string expert = "block0.mlp.experts.expert2.fc1.weight";
  FsdpPlan plan = plan_of("expert = {}\nfsdp = { mesh = [\"dp\", \"cp\"] }\n");
  EXPECT_EQ(plan.mesh->replicate, (Names{"dp", "ep"}));
  EXPECT_EQ(plan.mesh->use, Names{"cp"});
  EXPECT_EQ(plan.wraps[0].param_mesh.at(expert).use, (Names{"dp", "cp"}));
  EXPECT_EQ(plan.wraps[0].param_mesh.count("block0.mlp.router.weight"), 0U);
  plan = plan_of("expert = {}\nfsdp = { mesh = [\"cp\", \"ep\"] }\n");
  EXPECT_EQ(plan.mesh->replicate, Names());
  EXPECT_EQ(plan.mesh->use, (Names{"cp", "ep"}));
  EXPECT_EQ(plan.wraps[0].param_mesh.at(expert).use, Names{"cp"});
  plan = plan_of("expert = {}\nfsdp = { mesh = \"ep\" }\n");
  MeshPlan whole = plan.wraps[0].param_mesh.at(expert);
  EXPECT_EQ(whole.use, Names{"dp_cp_ep_owner"});
  EXPECT_EQ(whole.shape, (Shape{2, 2, 2, 1}));
}

void expect_one_device(const ExpertGate& gate) {
  GateFile file = gate.file();
  for (const GateCheck& check : run_gate(file, {}).checks)
    EXPECT_TRUE(check.passed) << gate.mesh << gate.parallel << gate.model << check.name << ": "
                              << check.expected << "; got " << check.actual;
}

TEST(GateExpert, TrainsAsOneDevice) {
  for (const char* parallel :
       {"", "replicate = { mesh = \"dp\" }\n",
        "replicate = { mesh = \"ep\", bucket_bytes = 300 }\n", "fsdp = { mesh = \"ep\" }\n",
        "fsdp = { mesh = \"dp\" }\n",
        ("fsdp = { mesh = [\"dp\", \"ep\"], shard_placement = \"largest\" }\n"
         "activation_checkpointing = \"blocks\"\n")})
    expect_one_device({.parallel = std::string("expert = {}\n") + parallel});
  for (const char* parallel : {"replicate = { mesh = \"dp\" }\ncontext = { mesh = \"cp\" }\n",
                               "fsdp = { mesh = [\"dp\", \"cp\"] }\n",
                               "fsdp = { mesh = [\"cp\", \"ep\"] }\ncontext = { mesh = \"cp\" }\n"})
    expect_one_device({.mesh = deep_mesh, .parallel = std::string("expert = {}\n") + parallel});
  expect_one_device({.parallel = "expert = {}\nfsdp = { mesh = [\"dp\", \"ep\"] }\n"
                                 "context = { mesh = \"ep\", method = \"ulysses\" }\n"});
}

// There are more ranks than experts, or so many experts that some get no token. Weight decay must
// not change those.
TEST(GateExpert, RanksAndExpertsMayBeIdle) {
  for (const char* parallel : {"", "replicate = { mesh = \"dp\" }\n", "fsdp = { mesh = \"dp\" }\n"})
    for (const char* experts : {"experts = 2\n", "experts = 40\n"})
      expect_one_device({.mesh = "shape = [2, 4]\nnames = [\"dp\", \"ep\"]\n",
                         .parallel = std::string("expert = {}\n") + parallel,
                         .model = experts});
}

// Returns the first difference between a run on the mesh and one device, on rank 0. `change` may
// spoil gradients.
std::optional<Difference> difference_of(
    const ExpertGate& gate, const std::function<void(const std::string&, Tensor&)>& change) {
  GateFile file = gate.file(), alone = file;
  alone.mesh = {{1}, {"dp"}};
  alone.parallel = {};
  GateTask task = gate_task(file);
  auto run = [&](const GateFile& one, const ParallelForm& form, auto use) {
    World world({.ranks = std::size_t(one.ranks()), .arithmetic = Arithmetic::exact()});
    Outcome outcome = world.run([&](Rank& rank) {
      std::vector<nn::NamedTensor> results = named_results(train_on_mesh(one, task, form));
      if (rank.id() == 0) use(results);
    });
    EXPECT_TRUE(outcome.ok()) << report(outcome);
  };
  RunRecord expected;
  run(alone, {}, [&](const auto& results) { expected = copy_of(results); });
  ParallelForm spoilt;
  spoilt.after_backward = [&](nn::Module& model) {
    for (auto& [name, parameter] : model.named_parameters())
      if (grad_of(parameter).is_defined()) change(name, parameter);
  };
  std::optional<Difference> difference;
  run(file, spoilt, [&](const auto& results) { difference = first_difference(expected, results); });
  return difference;
}

// The gradients of experts that are too large by the number of their ranks make the gate fail, with
// and without sharding, though AdamW's steps hardly change by it.
TEST(GateExpert, GradientsOfAnotherScaleFail) {
  auto is_expert = [](const std::string& name) { return name.find(".experts.") != name.npos; };
  for (const char* parallel : {"expert = {}\n", "expert = {}\nreplicate = { mesh = \"dp\" }\n",
                               "expert = {}\nfsdp = { mesh = \"dp\" }\n"}) {
    ExpertGate gate{.parallel = parallel};
    auto nothing = [](const std::string&, Tensor&) {};
    EXPECT_FALSE(difference_of(gate, nothing)) << parallel;
    auto difference = difference_of(gate, [&](const std::string& name, Tensor& parameter) {
      if (is_expert(name)) set_grad(parameter, mul(grad_of(parameter).detach(), 2.0));
    });
    ASSERT_TRUE(difference) << parallel;
    EXPECT_EQ(difference->where, "step 0 gradient norm, element []") << parallel;
  }
}

}  // namespace
}  // namespace simmesh
