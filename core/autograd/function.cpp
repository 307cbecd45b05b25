#include "core/autograd/function.h"

#include <algorithm>

#include "core/autograd/node.h"
#include "core/autograd/variable.h"
#include "core/check/check.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"

namespace simmesh {

namespace {

class FunctionNode final : public Node {
 public:
  FunctionNode(std::string name, FunctionBackward backward, const FunctionOptions& options)
      : Node(next_sequence()),
        name_(std::move(name)),
        backward_(std::move(backward)),
        options_(options) {}

  std::string name() const override { return name_; }

  Gradients apply(Gradients gradients) override {
    if (!backward_)
      raise(ErrorKind::runtime_error, "autograd/backward",
            "Trying to backward through the graph a second time: the tensors that {} saved were "
            "freed",
            name_);
    // The function may be released by the code that it runs.
    FunctionBackward backward = backward_;
    KeepUnrounded scope(takes_unrounded());
    std::vector<Tensor> results = backward(gradients);
    SIMMESH_CHECK(results.size() == edges().size(), "{} returned {} gradients of {} inputs", name_,
                  results.size(), edges().size());
    return results;
  }

  // The gradient that reaches an operation is rounded, as on one device. A partial gradient is kept
  // unrounded by the node that adds to it.
  bool takes_unrounded() const override {
    bool keeps_sums = options_.passes_on || options_.moves || options_.reduces_gradients;
    return keeps_sums && std::any_of(edges().begin(), edges().end(), [](const Edge& edge) {
             return edge.node && edge.node->takes_unrounded();
           });
  }

  bool passes_on() const override { return options_.passes_on; }

  void release() override { backward_ = nullptr; }

 private:
  std::string name_;
  FunctionBackward backward_;
  FunctionOptions options_;
};

}  // namespace

void record_function(std::string name, gsl::span<const Tensor> inputs,
                     gsl::span<Tensor* const> outputs, FunctionBackward backward,
                     const FunctionOptions& options) {
  bool tracked = std::any_of(inputs.begin(), inputs.end(),
                             [](const Tensor& input) { return input.requires_grad(); });
  if (!tracked || !grad_enabled()) return;
  SIMMESH_CHECK(!options.passes_on || (inputs.size() == 1 && outputs.size() == 1),
                "{} passes on {} gradients to {} inputs", name, outputs.size(), inputs.size());
  NodePtr node(new FunctionNode(std::move(name), std::move(backward), options));
  for (const Tensor& input : inputs) node->add_edge(Variable::edge_of(input));
  for (Tensor* output : outputs) node->add_output(type_of(*output));
  for (std::size_t i = 0; i < std::size_t(outputs.size()); ++i)
    if (is_floating_point(outputs[i]->dtype()))
      outputs[i]->set_tracking(new Variable(node, std::uint32_t(i)));
}

}  // namespace simmesh
