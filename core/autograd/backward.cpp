#include "core/autograd/backward.h"

#include "core/autograd/pass_scope.h"
#include "core/autograd/root_gradient.h"
#include "core/autograd/traversal.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

constexpr std::string_view backward_source = "autograd/backward";

// Returns the gradient that was given for a tensor, undefined where none was.
Tensor given_at(const std::vector<Tensor>& given, std::size_t index) {
  return index < given.size() ? given[index] : Tensor();
}

}  // namespace

void backward(gsl::span<const Tensor> tensors, const BackwardOptions& options) {
  Traversal traversal({options.retain_graph.value_or(options.create_graph), options.create_graph});
  for (std::size_t i = 0; i < std::size_t(tensors.size()); ++i)
    traversal.add_root({Variable::edge_of(tensors[i]),
                        root_gradient(tensors[i], given_at(options.gradients, i), i)});
  for (const Tensor& input : options.inputs) {
    Variable* variable = Variable::of(input);
    if (!variable || !variable->is_leaf() || !variable->requires_grad())
      raise(ErrorKind::runtime_error, backward_source,
            "expected inputs that are leaves requiring gradients");
    traversal.capture(input, true);
  }
  PassScope pass;
  traversal.run();
  pass.run_callbacks();
}

std::vector<Tensor> grad(gsl::span<const Tensor> outputs, gsl::span<const Tensor> inputs,
                         const GradOptions& options) {
  Traversal traversal({options.retain_graph.value_or(options.create_graph), options.create_graph});
  for (std::size_t i = 0; i < std::size_t(outputs.size()); ++i)
    traversal.add_root({Variable::edge_of(outputs[i]),
                        root_gradient(outputs[i], given_at(options.gradients, i), i)});
  for (const Tensor& input : inputs) {
    if (!input.requires_grad())
      raise(ErrorKind::runtime_error, backward_source,
            "One of the differentiated Tensors does not require grad");
    traversal.capture(input, false);
  }
  PassScope pass;
  traversal.run();
  pass.run_callbacks();
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < std::size_t(inputs.size()); ++i) {
    const Tensor& gradient = traversal.captured(i);
    if (!gradient.is_defined() && !options.allow_unused)
      raise(ErrorKind::runtime_error, backward_source,
            "One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused if this is the desired behavior");
    results.push_back(with_own_elements(gradient));
  }
  return results;
}

void queue_callback(std::function<void()> callback) {
  BackwardPasses& all = backward_passes();
  if (all.running.empty())
    raise(ErrorKind::runtime_error, "autograd/queue_callback",
          "Final callbacks can only be installed during backward pass");
  all.running.back().callbacks.push_back(std::move(callback));
}

std::optional<std::uint64_t> current_backward() {
  BackwardPasses& all = backward_passes();
  if (all.running.empty()) return std::nullopt;
  return all.running.back().number;
}

}  // namespace simmesh
