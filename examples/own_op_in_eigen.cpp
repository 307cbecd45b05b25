// How do I write the kernel of an op of my own in Eigen, so that it is differentiated and tested
// like any other?
#include <fmt/core.h>

#include <simmesh/core/ops/call.h>
#include <simmesh/core/ops/gradient_call.h>
#include <simmesh/core/tensor/eigen_map.h>
#include <simmesh/simmesh.h>

using namespace simmesh;

// gram is x^T x of a matrix x: the products of its columns.
const Op gram_op = {
    .name = "my::gram",
    .shape =
        [](gsl::span<const TensorType> inputs, const Attributes&) {
          if (inputs[0].shape.size() != 2)
            raise(ErrorKind::value_error, "my/gram", "expected a matrix, got {} dims",
                  inputs[0].shape.size());
          std::int64_t columns = inputs[0].shape[1];
          return TensorTypes{{{columns, columns}, inputs[0].dtype}};
        },
    .kernel =
        [](gsl::span<const Tensor> inputs, const Attributes&, gsl::span<Tensor> outputs) {
          auto x = eigen_map<float>(inputs[0]);
          mutable_eigen_map<float>(outputs[0]).noalias() = x.transpose() * x;
        },
    .gradient = {[](const GradientCall& call) {
                   Tensor g = call.gradient();
                   return Gradients{mm(call.input(0), add(g, t(g)))};
                 },
                 {.inputs = 0b1}},
};

Tensor gram(const Tensor& x) { return call_one(gram_op, {x}); }

int main(int argc, char** argv) {
  World world(world_options_from(argc, argv, {.ranks = 2}));
  Outcome outcome = world.run([](Rank& rank) {
    // Small integers, whose sums are exact in any order.
    Tensor whole = formula({6, 3}, {.rule = Rule::index, .seed = 1, .below = 10});
    ProcessGroup group = ProcessGroup::world();
    Tensor rows = whole.narrow({.dim = 0, .start = 3 * group.rank(), .length = 3}).clone();
    set_requires_grad(rows);
    Tensor own = gram(rows);
    backward(sum(own));
    // The rows are sharded over the ranks, so each rank has an addend of the result.
    Tensor result = all_reduce(own.detach(), ReduceOp::sum, group);
    rank.expect_same_bits(result, mm(t(whole), whole));
    if (rank.id() == 0)
      fmt::print("x = {}\nx^T x = {}\ngradient of rank 0 = {}\n", to_string(whole),
                 to_string(result), to_string(grad_of(rows)));
  });
  fmt::print("{}\n", outcome.ok() ? "equal bits" : report(outcome));
  return outcome.ok() ? 0 : 1;
}
