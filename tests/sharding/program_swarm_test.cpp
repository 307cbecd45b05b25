#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/world.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/indexing/indexing.h"
#include "core/ops/matrices/products.h"
#include "core/ops/neural/attention.h"
#include "core/ops/neural/normalization.h"
#include "core/ops/neural/rotary.h"
#include "core/ops/neural/softmax.h"
#include "core/ops/reductions/sums.h"
#include "core/ops/shapes/joining.h"
#include "core/ops/shapes/views.h"
#include "core/tensor/formula.h"
#include "sharding/dtensor/dtensor.h"

// A program on distributed tensors has the bits of the same program on one device in exact
// arithmetic: results and gradients, whatever the placements of inputs and parameters and the
// redistributions on the way. Draw number i is a function of i.
//
// A run makes `draws` draws. --gtest_shuffle --gtest_random_seed=S makes others for each S, and
// --gtest_repeat=N for N numbers from S on.
namespace simmesh {
namespace {

constexpr std::uint64_t draws = 300;

// Twin is a tensor on one device and the same one on the mesh.
struct Twin {
  Tensor one;
  Tensor spread;
  std::string name;

  std::string text() const {
    DTensor tensor = DTensor::of(spread.detach());
    return fmt::format("{} {}({})", name, to_string(DimSpan(tensor.shape())),
                       to_string(PlacementSpan(tensor.placements())));
  }
};

// ProgramDraw makes the choices of one draw.
class ProgramDraw {
 public:
  explicit ProgramDraw(std::uint64_t index) : stream_(2026, index) {}

  bool chance(std::uint64_t one_in = 2) { return stream_.below(one_in) == 0; }
  std::size_t below(std::size_t bound) { return std::size_t(stream_.below(bound)); }
  template <class T>
  const T& among(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  Placements placements(std::size_t mesh_dims, std::size_t tensor_dims) {
    Placements result;
    for (std::size_t i = 0; i < mesh_dims; ++i) {
      std::size_t choice = below(tensor_dims + 1);
      result.push_back(choice == tensor_dims ? Replicate() : Shard(std::int64_t(choice)));
    }
    return result;
  }

 private:
  RandomStream stream_;
};

// SwarmProgram runs one program, chosen step by step, on one device and on a mesh. Leaves are made
// by the first pass and used again by later ones.
class SwarmProgram {
 public:
  SwarmProgram(std::uint64_t index, const DeviceMesh& mesh) : index_(index), mesh_(mesh) {}

  // run makes a forward and a backward pass; a later pass has other inputs and the same leaves.
  void run(std::uint64_t pass);
  // expect_same compares the gradients of all leaves.
  void expect_same_gradients() const;

 private:
  Twin leaf(const Shape& shape, ProgramDraw& draw);
  Twin constant(const Shape& shape, std::uint64_t seed, ProgramDraw& draw);
  Twin value(ProgramDraw& draw) { return values_[draw.below(values_.size())]; }
  Twin value_like(const Twin& other, ProgramDraw& draw);
  void step(ProgramDraw& draw);
  void add_value(Twin value, const std::string& how);
  void apply(const std::string& name, const std::vector<Twin>& inputs,
             const std::function<Tensor(gsl::span<const Tensor>)>& function);
  void compare_values(gsl::span<const Tensor> ones, const std::vector<Tensor>& one_gradients,
                      gsl::span<const Tensor> pieces, const std::vector<Tensor>& gradients) const;
  void expect_same(const Tensor& one, const Tensor& spread, const std::string& what) const;

  std::uint64_t index_;
  const DeviceMesh& mesh_;
  Rule rule_ = Rule::unit;
  std::vector<Twin> leaves_;
  std::size_t next_leaf_ = 0;
  std::vector<Twin> values_;
  std::string text_;
};

Tensor settled_zero(const Tensor& x) { return add(x, 0.0); }

void SwarmProgram::expect_same(const Tensor& one, const Tensor& spread,
                               const std::string& what) const {
  ASSERT_EQ(one.is_defined(), spread.is_defined()) << what;
  if (!one.is_defined()) return;
  Tensor whole = DTensor::of(spread.detach()).full_tensor();
  if (same_bits(settled_zero(one.detach()), settled_zero(whole))) return;
  ADD_FAILURE() << "draw " << index_ << " on " << to_string(DimSpan(mesh_.shape())) << ": " << what
                << ", which lies as "
                << to_string(PlacementSpan(DTensor::of(spread.detach()).placements()))
                << "\nexpected " << to_string(one.detach()) << "\ngot " << to_string(whole) << "\n"
                << text_;
}

void SwarmProgram::expect_same_gradients() const {
  for (std::size_t i = 0; i < leaves_.size() && !::testing::Test::HasFailure(); ++i)
    expect_same(grad_of(leaves_[i].one), grad_of(leaves_[i].spread),
                fmt::format("gradient of leaf {}", i));
}

Twin SwarmProgram::constant(const Shape& shape, std::uint64_t seed, ProgramDraw& draw) {
  Tensor one = formula(shape, {.rule = rule_, .seed = seed});
  Placements placements = draw.placements(mesh_.shape().size(), shape.size());
  DTensor spread = distribute_tensor(one, mesh_, placements, {.from_first_rank = false});
  return {one, spread.as_tensor(), fmt::format("constant {}", seed)};
}

Twin SwarmProgram::leaf(const Shape& shape, ProgramDraw& draw) {
  if (draw.chance(3))
    for (std::size_t i = 0; i < next_leaf_; ++i)
      if (leaves_[i].one.shape() == shape) return leaves_[i];
  if (next_leaf_ == leaves_.size()) {
    Twin made = constant(shape, 100 + leaves_.size(), draw);
    set_requires_grad(made.one);
    DTensor spread = DTensor::of(made.spread);
    spread.set_requires_grad();
    leaves_.push_back({made.one, spread.as_tensor(), fmt::format("leaf {}", leaves_.size())});
  } else {
    draw.placements(mesh_.shape().size(), shape.size());
  }
  return leaves_[next_leaf_++];
}

Twin SwarmProgram::value_like(const Twin& other, ProgramDraw& draw) {
  std::vector<Twin> alike;
  for (const Twin& twin : values_)
    if (twin.one.shape() == other.one.shape()) alike.push_back(twin);
  return draw.among(alike);
}

// An op that can't run on pieces runs on whole tensors, as a user would do it.
void SwarmProgram::apply(const std::string& name, const std::vector<Twin>& inputs,
                         const std::function<Tensor(gsl::span<const Tensor>)>& function) {
  std::vector<Tensor> ones, pieces;
  for (const Twin& input : inputs) {
    ones.push_back(input.one);
    pieces.push_back(input.spread);
  }
  std::string how = name + " of";
  for (const Twin& input : inputs) how += " " + input.text();
  Twin result;
  result.one = function(ones);
  try {
    result.spread = function(pieces);
  } catch (const Error&) {
    Placements whole(mesh_.shape().size(), Replicate());
    for (Tensor& piece : pieces) piece = DTensor::of(piece).redistribute(whole).as_tensor();
    result.spread = function(pieces);
  }
  add_value(std::move(result), how);
}

void SwarmProgram::add_value(Twin value, const std::string& how) {
  value.name = fmt::format("value {}", values_.size());
  text_ += fmt::format("{} is {}\n", value.text(), how);
  values_.push_back(std::move(value));
}

Tensor headed(const Tensor& x, std::int64_t size) {
  return transpose(view(x, {x.size(0), x.size(1), x.size(2) / size, size}), 1, 2);
}

void SwarmProgram::step(ProgramDraw& draw) {
  Twin x = value(draw);
  std::int64_t width = x.one.size(2);
  switch (draw.below(16)) {
    case 0:
    case 1: {
      Shape weight = {draw.among<std::int64_t>({4, 8, width}), width};
      std::vector<Twin> inputs = {x, leaf(weight, draw)};
      if (draw.chance()) inputs.push_back(leaf({weight[0]}, draw));
      return apply("linear", inputs,
                   [](auto in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Tensor()); });
    }
    case 2: return apply("add", {x, value_like(x, draw)}, [](auto in) { return in[0] + in[1]; });
    case 3: return apply("mul", {x, value_like(x, draw)}, [](auto in) { return in[0] * in[1]; });
    case 4: return apply("sub", {x, value_like(x, draw)}, [](auto in) { return in[0] - in[1]; });
    case 5:
      if (draw.chance()) return apply("gelu", {x}, [](auto in) { return gelu(in[0]); });
      return apply("div", {x}, [](auto in) { return in[0] / 3.0; });
    case 6: {
      bool has_bias = draw.chance();
      std::vector<Twin> inputs = {x, leaf({width}, draw)};
      if (has_bias) inputs.push_back(leaf({width}, draw));
      return apply(has_bias ? "layer_norm" : "rms_norm", inputs, [=](auto in) {
        return has_bias ? layer_norm(in[0], Dims{width}, in[1], in[2])
                        : rms_norm(in[0], Dims{width}, in[1]);
      });
    }
    case 7: return apply("softmax", {x}, [](auto in) { return softmax(in[0], -1); });
    case 8:
    case 9: {
      Twin k = value_like(x, draw), v = value_like(x, draw);
      bool is_rotary = draw.chance(), is_causal = draw.chance();
      std::int64_t size = width % 2 == 0 ? 2 : width;
      return apply(is_rotary ? "rotary attention" : "attention", {x, k, v}, [=](auto in) {
        Tensor q = headed(in[0], size), keys = headed(in[1], size), mixed;
        if (is_rotary && size % 2 == 0) {
          q = rotary_embedding(q);
          keys = rotary_embedding(keys);
        }
        mixed = scaled_dot_product_attention(q, keys, headed(in[2], size),
                                             {.is_causal = is_causal, .scale = {}});
        return reshape(transpose(mixed, 1, 2), in[0].shape());
      });
    }
    case 10:
    case 11: {
      Placements to = draw.placements(mesh_.shape().size(), 3);
      // One device takes a copy, for gradients are added where the tape branches.
      return add_value({clone(x.one), DTensor::of(x.spread).redistribute(to).as_tensor(), ""},
                       "redistribute of " + x.text());
    }
    case 12: return apply("transpose", {x}, [](auto in) { return transpose(in[0], 1, 2); });
    case 13:
      if (draw.chance())
        return apply("sum", {x}, [](auto in) { return in[0] * sum(in[0], 1, true); });
      return apply("mean", {x}, [](auto in) { return in[0] - mean(in[0], Dims{0, 2}, true); });
    case 14:
      return apply("cat", {x, value_like(x, draw)}, [](auto in) {
        Tensor joined = cat({in[0], in[1]}, 2);
        return narrow(joined, {.dim = 2, .start = 1, .length = in[0].size(2)});
      });
    default:
      return apply("matmul", {x, value_like(x, draw)},
                   [](auto in) { return matmul(matmul(in[0], transpose(in[1], 1, 2)), in[1]); });
  }
}

void SwarmProgram::run(std::uint64_t pass) {
  ProgramDraw draw(index_);
  text_.clear();
  values_.clear();
  next_leaf_ = 0;
  rule_ = draw.chance(4) ? Rule::wide : Rule::unit;
  Shape shape = {draw.among<std::int64_t>({1, 2, 4}), draw.among<std::int64_t>({3, 4, 5}),
                 draw.among<std::int64_t>({4, 6, 8})};
  Twin first = draw.chance() ? leaf(shape, draw) : constant(shape, 10 + pass, draw);
  add_value(first, first.text());
  std::size_t steps = 3 + draw.below(8);
  for (std::size_t i = 0; i < steps; ++i) step(draw);
  std::vector<Tensor> ones, pieces, one_gradients, gradients;
  for (std::size_t i = values_.size(); i-- > 0 && ones.size() < 2;) {
    if (!values_[i].one.requires_grad()) continue;
    expect_same(values_[i].one, values_[i].spread, fmt::format("value {}", i));
    Twin gradient = constant(values_[i].one.shape(), 40 + 2 * pass + ones.size(), draw);
    text_ += fmt::format("gradient of {}: {}\n", values_[i].name, gradient.text());
    ones.push_back(values_[i].one);
    pieces.push_back(values_[i].spread);
    one_gradients.push_back(gradient.one);
    gradients.push_back(gradient.spread);
  }
  if (ones.empty()) return;
  compare_values(ones, one_gradients, pieces, gradients);
  backward(ones, {.gradients = one_gradients});
  backward(pieces, {.gradients = gradients});
}

// Compares the gradients of all values, the last one first, so that the report is about the place
// where bits first differ.
void SwarmProgram::compare_values(gsl::span<const Tensor> ones,
                                  const std::vector<Tensor>& one_gradients,
                                  gsl::span<const Tensor> pieces,
                                  const std::vector<Tensor>& gradients) const {
  std::vector<Tensor> inputs, spread;
  std::vector<std::string> names;
  for (std::size_t i = values_.size(); i-- > 0;) {
    if (!values_[i].one.requires_grad()) continue;
    inputs.push_back(values_[i].one);
    spread.push_back(values_[i].spread);
    names.push_back(values_[i].name);
  }
  GradOptions options{.gradients = one_gradients, .retain_graph = true, .allow_unused = true};
  std::vector<Tensor> expected = grad(ones, inputs, options);
  options.gradients = gradients;
  std::vector<Tensor> came = grad(pieces, spread, options);
  for (std::size_t i = 0; i < names.size() && !::testing::Test::HasFailure(); ++i)
    expect_same(expected[i], came[i], "gradient of " + names[i]);
}

const std::vector<Shape> swarm_meshes = {{1}, {2}, {3}, {4}, {2, 2}};

TEST(ProgramSwarm, ProgramsOnAMeshHaveTheBitsOfOneDevice) {
  bool is_shuffled = ::testing::GTEST_FLAG(shuffle);
  auto seed = std::uint64_t(is_shuffled ? ::testing::UnitTest::GetInstance()->random_seed() : 0);
  const char* schedules[] = {"fifo", "seeded:1", "pct:3"};
  std::uint64_t refused = 0;
  for (std::uint64_t i = seed * draws; i < (seed + 1) * draws && !HasFailure(); ++i) {
    Shape shape = swarm_meshes[i % swarm_meshes.size()];
    World world({.ranks = std::size_t(numel(shape)),
                 .schedule = Schedule::parse(schedules[i % 3]),
                 .arithmetic = Arithmetic::exact()});
    Outcome outcome = world.run([&](Rank&) {
      DeviceMesh mesh =
          shape.size() == 1 ? init_device_mesh(shape, {"a"}) : init_device_mesh(shape, {"a", "b"});
      SwarmProgram program(i, mesh);
      try {
        for (std::uint64_t pass = 0; pass < 1 + i % 2; ++pass) program.run(pass);
      } catch (const Error& error) {
        // A view of a gradient that is cut unevenly is refused, as PyTorch refuses it.
        if (std::string_view(error.what()).find("Please redistribute") == std::string_view::npos)
          throw;
        if (mesh.get_rank() == 0) ++refused;
        return;
      }
      program.expect_same_gradients();
    });
    EXPECT_TRUE(outcome.ok()) << "draw " << i << ": " << report(outcome);
  }
  EXPECT_LT(refused, draws / 4);
}

}  // namespace
}  // namespace simmesh
