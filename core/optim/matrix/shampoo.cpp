#include "core/optim/matrix/shampoo.h"

#include <cmath>

#include "core/arithmetic/functions.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/shapes/views.h"
#include "core/optim/element_update.h"
#include "core/tensor/scalar_value.h"

namespace simmesh::optim {

namespace {

// Returns rows and columns of a parameter as a matrix; a vector has one column.
Shape matrix_of(const Shape& shape) {
  if (shape.empty()) return {1, 1};
  return {shape[0], shape[0] == 0 ? 0 : numel(shape) / shape[0]};
}

// Returns the size of a side's preconditioner, 0 for none. One row or column needs none beside
// another side.
std::int64_t side_of(const Shape& matrix, std::size_t side, std::int64_t size_max) {
  std::int64_t size = matrix[side], other = matrix[1 - side];
  if (size > size_max || (size == 1 && (side == 1 || other > 1))) return 0;
  return size;
}

}  // namespace

Shampoo::Shampoo(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {
  for (std::size_t i = 0; i < parameters().size(); ++i)
    if (options_of(i).every < 1)
      raise(ErrorKind::value_error, "optim/shampoo", "expected every of 1 or more, got {}",
            options_of(i).every);
}

Tensor Shampoo::new_state(std::size_t parameter, const std::string& name) const {
  if (name == "exp_avg") return Optimizer::new_state(parameter, name);
  std::int64_t n = side_of(matrix_of(whole_shape(*this, parameter)),
                           name.starts_with("left") ? 0 : 1, options_of(parameter).size_max);
  return zeros({n, n}, parameters()[parameter].dtype());
}

void Shampoo::update_side(std::size_t index, const Tensor& gradient, const std::string& name,
                          std::int64_t root) {
  const ShampooOptions& options = options_of(index);
  Tensor &statistics = state_tensor(index, name), &kept = state_tensor(index, name + "_root");
  if (statistics.numel() == 0) return;
  bool adds_up = options.beta2 == 1.0;
  Tensor product = mm(gradient, transpose(gradient, 0, 1));
  copy_(statistics,
        add(mul(statistics, options.beta2), mul(product, adds_up ? 1.0 : 1.0 - options.beta2)));
  std::int64_t steps = state_of(index).steps;
  if ((steps - 1) % options.every != 0) return;
  double correction = adds_up ? 1.0 : 1.0 - simmesh::power(options.beta2, double(steps));
  copy_(kept, inverse_root(div(statistics, correction), {.root = root, .ridge = options.ridge}));
}

Tensor Shampoo::direction(std::size_t index, const Tensor& momentum) {
  const Tensor &left = state_tensor(index, "left_root"), &right = state_tensor(index, "right_root");
  Tensor result = momentum;
  if (left.numel() > 0) result = mm(left, result);
  if (right.numel() > 0) result = mm(result, right);
  if (options_of(index).graft == ShampooGraft::none || !result.has_elements()) return result;
  double own = scalar_value_or(vector_norm(result), 0.0);
  double wanted = scalar_value_or(vector_norm(momentum), 0.0);
  return own > 0 ? mul(result, wanted / own) : result;
}

void Shampoo::update(std::size_t index, Tensor parameter, Tensor gradient) {
  NoGrad mode;
  const ShampooOptions& options = options_of(index);
  Shape matrix = matrix_of(parameter.shape());
  Tensor g = gradient.contiguous().view(matrix);
  Tensor& average = state_tensor(index, "exp_avg", gradient.shape(), gradient.dtype());
  copy_(average, add(mul(average, options.beta1), mul(gradient, 1.0 - options.beta1)));
  bool has_both =
      side_of(matrix, 0, options.size_max) > 0 && side_of(matrix, 1, options.size_max) > 0;
  update_side(index, g, "left", has_both ? 4 : 2);
  update_side(index, transpose(g, 0, 1), "right", has_both ? 4 : 2);
  double correction = 1.0 - simmesh::power(options.beta1, double(state_of(index).steps));
  Tensor momentum = div(average, correction).view(matrix);
  Tensor change = direction(index, momentum).contiguous().view(parameter.shape());
  double kept = 1.0 - options.lr * options.weight_decay;
  update_elements<2>({&parameter, &change}, [&](auto& values) {
    using T = std::decay_t<decltype(values[0])>;
    values[0] = values[0] * T(kept) + T(-options.lr) * values[1];
  });
}

}  // namespace simmesh::optim
