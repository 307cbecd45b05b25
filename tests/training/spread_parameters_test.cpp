#include "training/spread_parameters.h"

#include "core/nn/containers.h"
#include "core/nn/linear.h"
#include "core/tensor/formula.h"
#include "testing/gtest.h"

namespace simmesh {
namespace {

// Four layers with a weight each; b and d are spread.
nn::ModulePtr four_layers() {
  std::vector<nn::NamedModule> layers;
  std::uint64_t seed = 1;
  for (const char* name : {"a", "b", "c", "d"}) {
    auto layer =
        std::make_shared<nn::Linear>(nn::Linear::Options{.in = 2, .out = 2, .bias = false});
    Tensor values = layer->parameter("weight").detach();
    copy_(values, formula({2, 2}, {.rule = Rule::unit, .seed = seed++}));
    layers.emplace_back(name, layer);
  }
  return std::make_shared<nn::Sequential>(std::move(layers));
}

bool is_b_or_d(const std::string& path) { return path[0] == 'b' || path[0] == 'd'; }

std::vector<std::string> names_of(const std::vector<nn::NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

// Rank 0 has d, rank 1 has b, rank 2 has neither; the report has the order of one device, or its
// tensors are compared with those of other parameters.
SIMMESH_TEST(SpreadParameters, CompletesInTheOrderOfOneDevice, {.mesh = {3}}) {
  ProcessGroup group = process_group(mesh);
  nn::ModulePtr model = four_layers(), whole = four_layers();
  SpreadParameters spread(*model, is_b_or_d, group);
  if (group.rank() != 1) model->find("b").set_parameter("weight", Tensor());
  if (group.rank() != 0) model->find("d").set_parameter("weight", Tensor());
  EXPECT_EQ(spread.own(*model).parameters.size(), group.rank() == 2 ? 0U : 1U);
  std::vector<nn::NamedTensor> completed = spread.complete(model->named_parameters());
  EXPECT_EQ(names_of(completed), (Names{"a.weight", "b.weight", "c.weight", "d.weight"}));
  std::vector<nn::NamedTensor> expected = whole->named_parameters();
  for (std::size_t i = 0; i < completed.size(); ++i)
    EXPECT_SAME_BITS(completed[i].second, expected[i].second);
}

// States have more tensors per parameter, of other dtypes and shapes, and some parameters none.
SIMMESH_TEST(SpreadParameters, CompletesStates, {.mesh = {2}}) {
  ProcessGroup group = process_group(mesh);
  nn::ModulePtr model = four_layers();
  SpreadParameters spread(*model, is_b_or_d, group);
  std::vector<nn::NamedTensor> states = {{"a.weight.step", tensor_of<double>({}, {3})}};
  if (group.rank() == 0) {
    states.emplace_back("d.weight.exp_avg", formula({2, 2}, {.rule = Rule::unit, .seed = 9}));
    states.emplace_back("d.weight.step", tensor_of<double>({}, {4}));
  }
  std::vector<nn::NamedTensor> completed = spread.complete(states);
  EXPECT_EQ(names_of(completed), (Names{"a.weight.step", "d.weight.exp_avg", "d.weight.step"}));
  EXPECT_SAME_BITS(completed[1].second, formula({2, 2}, {.rule = Rule::unit, .seed = 9}));
  EXPECT_SAME_BITS(completed[2].second, tensor_of<double>({}, {4}));
}

}  // namespace
}  // namespace simmesh
