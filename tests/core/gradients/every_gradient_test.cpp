#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "core/autograd/gradcheck.h"
#include "core/autograd/variable.h"
#include "core/gradients/gradient_of.h"
#include "core/ops/call.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/gathering.h"
#include "core/ops/registry/registry.h"
#include "core/ops/shapes/views.h"
#include "core/samples/samples_of.h"
#include "core/tensor/formula.h"

// Each gradient of each op agrees with central differences on each of the op's samples. The sizes
// and the integers are the samples'; floating elements are distinct and of no special value, so
// that no element is at a kink or in a tie.
namespace simmesh {
namespace {

// Inputs that get no gradient, as in PyTorch: weights of losses and statistics of earlier batches.
const std::set<std::pair<std::string, std::size_t>> without_gradient_of_input = {
    {"binary_cross_entropy_with_logits", 2},
    {"binary_cross_entropy_with_logits", 3},
    {"native_batch_norm", 3},
    {"native_batch_norm", 4},
    {"nll_loss_forward", 2}};

// Ops of which only the first output has a gradient: the others are statistics of the batch.
const std::set<std::string> of_first_output = {"native_batch_norm"};

// Ops whose samples give other dtypes than float64 only, in which differences mean little.
const std::set<std::string> without_sample = {"_to_copy", "view_dtype"};

// Ops whose samples are of any numbers, but whose results are finite only for some.
const std::map<std::string, char> domain_of_op = {{"log", 'p'},  {"log2", 'p'},  {"log10", 'p'},
                                                  {"sqrt", 'p'}, {"rsqrt", 'p'}, {"acosh", 'c'}};

// Maps x within (-1, 1) to the numbers that a letter of a sample stands for; 'c' to those from 1.5.
double within(char elements, double x) {
  switch (elements) {
    case 'p': return 0.5 + std::fabs(x);
    case 'r': return 0.05 + 0.9 * std::fabs(x);
    case 'q': return x < 0 ? x - 0.5 : x + 0.5;
    case 'c': return 1.5 + std::fabs(x);
    default: return 0.9 * x;
  }
}

bool is_matrix(char elements) { return elements == 'y' || elements == 't'; }

void spread_out(Tensor& x, char elements, std::uint64_t seed) {
  Tensor drawn = formula(x.shape(), {.rule = Rule::unit, .seed = seed, .dtype = DType::float64});
  auto values = x.mutable_values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double unit = drawn.values<double>()[i];
    values[i] = is_matrix(elements) ? values[i] + 0.01 * unit : within(elements, unit);
  }
  if (elements == 's') std::sort(values.begin(), values.end());
}

struct SampleCall {
  std::vector<Tensor> inputs;
  std::vector<bool> is_symmetric;
};

SampleCall call_of(const Op& op, const OpSample& sample, const SampleSizes& sizes) {
  SampleCall made{sample_inputs(sample, sizes, {}), {}};
  std::vector<SampleInput> words = parse_sample_inputs(sample.inputs);
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    made.is_symmetric.push_back(words[i].elements == 'y');
    Tensor& x = made.inputs[i];
    if (!x.is_defined() || x.dtype() != DType::float64) continue;
    auto domain = domain_of_op.find(op.name);
    spread_out(x, domain == domain_of_op.end() ? words[i].elements : domain->second, 10 + i);
    if (!without_gradient_of_input.contains({op.name, i})) set_requires_grad(x);
  }
  return made;
}

// The gradients of decompositions are those of symmetric matrices.
Tensor symmetric(const Tensor& x) { return mul(add(x, transpose(x, -1, -2)), 0.5); }

// Says how the gradient of one sample differs; empty where no input or no output has a gradient.
std::string difference(const Op& op, const OpSample& sample, bool& is_checked) {
  SampleSizes sizes;
  SampleCall made = call_of(op, sample, sizes);
  Attributes attributes = sample.attributes_at(sizes);
  auto function = [&](const std::vector<Tensor>& given) {
    std::vector<Tensor> inputs = given, differentiable;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (made.is_symmetric[i]) inputs[i] = symmetric(inputs[i]);
    for (const Tensor& output : call(op, inputs, attributes)) {
      if (output.requires_grad() && output.dtype() == DType::float64)
        differentiable.push_back(output);
      if (of_first_output.contains(op.name)) break;
    }
    return differentiable;
  };
  // Rows of an embedding that pad get no gradient whatever they are.
  bool pads = attributes.get_or(attribute::padding_idx, -1) >= 0;
  if (pads || function(made.inputs).empty()) return {};
  is_checked = true;
  return gradcheck(function, made.inputs, {.second_order = false});
}

// If this fails, a model learns something else than its loss asks for.
TEST(EveryGradient, AgreesWithDifferencesOnEverySample) {
  for (const Op* op : all_ops()) {
    const Gradient* gradient = gradient_of(*op);
    if (!gradient || !gradient->rule) continue;
    bool is_checked = false;
    for (const OpSample* sample : samples_of(*op))
      EXPECT_EQ(difference(*op, *sample, is_checked), "") << op->name << " " << sample->inputs;
    EXPECT_NE(is_checked, without_sample.contains(op->name)) << op->name;
  }
}

}  // namespace
}  // namespace simmesh
