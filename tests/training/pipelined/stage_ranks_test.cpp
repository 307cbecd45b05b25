#include "training/pipelined/stage_ranks.h"

#include "core/autograd/variable.h"
#include "core/ops/shapes/factories.h"
#include "testing/gtest.h"
#include "tests/training/pipelined/plain_layer.h"

namespace simmesh {
namespace {

using testing::plain_layer;

// Three layers in a V over two ranks; the last one has the weight of the first or the second.
struct ThreeStages {
  explicit ThreeStages(const std::string& original, std::vector<std::int64_t> ranks)
      : map(std::vector<std::int64_t>(std::move(ranks))) {
    model.node = {
        "", "sequential", {}, {plain_layer("a", 2), plain_layer("b", 2), plain_layer("c", 2)}};
    model.tied = {{"c.weight", original}};
    for (const char* name : {"a.weight", "b.weight"})
      model.parameters.push_back({name, {2, 2}, {.rule = Rule::unit, .seed = 5}});
    plan = plan_stages(model.node, {1, 1, 1});
  }

  TrainingModel model;
  StagePlan plan;
  pipeline::StageMap map;
};

std::vector<std::string> names_in(const std::vector<nn::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

// Each rank must see all results in the order of one device, and a tied parameter once.
SIMMESH_TEST(StageRanks, CompleteWhatTheyReport, {.mesh = {2}}) {
  ThreeStages three("a.weight", {0, 1, 0});
  ProcessGroup group = process_group(mesh);
  RankStages stages(three.model, three.plan, three.map.stages_of(group.rank()));
  StageRanks ranks({three.plan, three.model, three.map, group});
  std::vector<nn::NamedTensor> all = ranks.complete(stages.all().named_parameters());
  SIMMESH_CHECK(names_in(all) == (std::vector<std::string>{"a.weight", "b.weight"}), "other names");
  SIMMESH_CHECK(ranks.counted(stages.all()).size() == 1, "a copy counts");
  Tensor values = full({2}, DType::float32, double(group.rank()));
  EXPECT_SAME_BITS(ranks.from_last(values), full({2}, DType::float32, 0.0));
  EXPECT_SAME_BITS(ranks.sum(values), full({2}, DType::float32, 1.0));
}

void set_gradients(nn::Module& all) {
  double value = 1;
  for (auto& [name, parameter] : all.named_parameters()) {
    Tensor owner = parameter;
    set_grad(owner, full({2, 2}, DType::float32, name == "c.weight" ? 10.0 : value));
    value += 1;
  }
}

// A tied parameter gets the sum over its stages once, on one rank or on two.
SIMMESH_TEST(StageRanks, AddTiedGradients, {.mesh = {2}}) {
  for (const char* original : {"a.weight", "b.weight"}) {
    ThreeStages three(original, {0, 1, 0});
    ProcessGroup group = process_group(mesh);
    RankStages stages(three.model, three.plan, three.map.stages_of(group.rank()));
    set_gradients(stages.all());
    StageRanks({three.plan, three.model, three.map, group}).add_tied(stages.all());
    for (const auto& [name, parameter] : stages.all().named_parameters()) {
      bool is_tied = name == "c.weight" || name == original;
      EXPECT_SAME_BITS(grad_of(parameter), full({2, 2}, DType::float32, is_tied ? 11.0 : 1.0));
    }
  }
}

}  // namespace
}  // namespace simmesh
