#include "core/ops/elementwise/selection.h"

#include <cmath>

#include "core/autograd/backward.h"
#include "core/engine/world.h"
#include "core/ops/reductions/sums.h"
#include "tests/core/gradients/gradient_case.h"

namespace simmesh {
namespace {

using Values = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();
const Values inputs = {0, 1, 2, 3, 4, std::nan("")};

Tensor column(const Values& values) {
  Tensor x = empty({std::int64_t(values.size())}, DType::float64);
  std::copy(values.begin(), values.end(), x.mutable_values<double>().begin());
  set_requires_grad(x);
  return x;
}

Values values_of(const Tensor& x) {
  auto values = x.values<double>();
  return {values.begin(), values.end()};
}

// Clamp is a call of clamp whose bounds are numbers or tensors; an infinite one is left out.
struct Clamp {
  double min, max;
  bool by_tensors;
};

// Returns the gradients of the input and, if the bounds are tensors, of those that are there.
std::vector<Values> gradients_of(const Clamp& call, Release release) {
  std::vector<Values> found;
  World world({.release = release});
  Outcome outcome = world.run([&](Rank&) {
    auto number = [](double bound) {
      return std::isinf(bound) ? std::nullopt : std::optional<Number>(bound);
    };
    std::vector<Tensor> leaves = {column(inputs)};
    auto tensor = [&](double bound) {
      if (std::isinf(bound)) return Tensor();
      leaves.push_back(column(Values(inputs.size(), bound)));
      return leaves.back();
    };
    Tensor min = call.by_tensors ? tensor(call.min) : Tensor();
    Tensor max = call.by_tensors ? tensor(call.max) : Tensor();
    Tensor result = call.by_tensors ? clamp(leaves[0], min, max)
                                    : clamp(leaves[0], number(call.min), number(call.max));
    std::vector<Tensor> outputs = {sum(result)};
    for (const Tensor& gradient : grad(outputs, leaves)) found.push_back(values_of(gradient));
  });
  EXPECT_TRUE(outcome.ok()) << report(outcome);
  return found;
}

struct ClampRow {
  Clamp call;
  std::vector<Values> before, after;
};

// The rows are what PyTorch 2.13.0 and 2.15.0 give for these inputs.
TEST(ReleaseChanges, ClampGradientAtBounds) {
  const std::vector<ClampRow> rows = {
      {{1, 3, false}, {{0, 1, 1, 1, 0, 0}}, {{0, 0, 1, 0, 0, 0}}},
      {{1, inf, false}, {{0, 1, 1, 1, 1, 0}}, {{0, 0, 1, 1, 1, 0}}},
      {{-inf, 3, false}, {{1, 1, 1, 1, 0, 0}}, {{1, 1, 1, 0, 0, 0}}},
      {{2, 2, false}, {{0, 0, 1, 0, 0, 0}}, {{0, 0, 0, 0, 0, 0}}},
      {{3, 1, false}, {{0, 0, 0, 0, 0, 0}}, {{0, 0, 0, 0, 0, 0}}},
      {{1, 3, true},
       {{0, 1, 1, 1, 0, 0}, {1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0}},
       {{0, 0.5, 1, 0.5, 0, 1}, {1, 0.5, 0, 0, 0, 0}, {0, 0, 0, 0.5, 1, 0}}},
      {{1, inf, true},
       {{0, 1, 1, 1, 1, 0}, {1, 0, 0, 0, 0, 0}},
       {{0, 0.5, 1, 1, 1, 1}, {1, 0.5, 0, 0, 0, 1}}},
      {{-inf, 3, true},
       {{1, 1, 1, 1, 0, 0}, {0, 0, 0, 0, 1, 0}},
       {{1, 1, 1, 0.5, 0, 1}, {0, 0, 0, 0.5, 1, 1}}},
      {{2, 2, true},
       {{0, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 0}},
       {{0, 0, 1, 0, 0, 1}, {1, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 0}}},
      {{3, 1, true},
       {{0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1}},
       {{0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1}}},
  };
  for (const ClampRow& row : rows) {
    SCOPED_TRACE(
        fmt::format("{} to {}, tensors: {}", row.call.min, row.call.max, row.call.by_tensors));
    EXPECT_EQ(gradients_of(row.call, Release::v2_13), row.before);
    EXPECT_EQ(gradients_of(row.call, Release::v2_15), row.after);
  }
}

}  // namespace
}  // namespace simmesh
