#include "core/autograd/split_backward.h"

#include "core/autograd/pass_scope.h"
#include "core/autograd/root_gradient.h"
#include "core/autograd/variable.h"

namespace simmesh {

GradientRoot root_of(const Tensor& tensor, const Tensor& gradient) {
  return {Variable::edge_of(tensor), root_gradient(tensor, gradient, 0)};
}

void backward_from(gsl::span<const GradientRoot> roots) {
  Traversal traversal({});
  for (const GradientRoot& root : roots) traversal.add_root(root);
  PassScope pass;
  traversal.run();
  pass.run_callbacks();
}

SplitBackward::SplitBackward(gsl::span<const GradientRoot> roots, gsl::span<const Tensor> inputs)
    : traversal_({.is_split = true}), inputs_(std::size_t(inputs.size())) {
  for (const GradientRoot& root : roots) traversal_.add_root(root);
  for (const Tensor& input : inputs) traversal_.capture(input, false);
}

std::vector<Tensor> SplitBackward::run_inputs() {
  PassScope pass;
  traversal_.run();
  pass.run_callbacks();
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < inputs_; ++i)
    gradients.push_back(with_own_elements(traversal_.captured(i)));
  return gradients;
}

void SplitBackward::run_leaves() {
  PassScope pass;
  traversal_.run_rest();
  pass.run_callbacks();
}

}  // namespace simmesh
