#pragma once

#include <optional>

#include "core/optim/grouped_optimizer.h"
#include "core/optim/whole_shapes.h"

namespace simmesh::optim {

// AdafactorOptions are PyTorch's.
struct AdafactorOptions {
  double lr = 1e-2;
  double beta2_decay = -0.8;
  std::optional<double> eps1 = {};  // by default the distance from 1 to the next number
  double eps2 = 1e-3;
  double d = 1.0;
  double weight_decay = 0.0;
  bool maximize = false;
};

// Adafactor keeps the second moment of a matrix as the means of its rows and columns. With w =
// t^beta2_decay: p *= 1 - lr * weight_decay; row and column means of g^2 are averaged with weight
// w, and v = row * column / mean(row); a vector averages g^2 itself. u = g / sqrt(v); p -=
// max(eps2, |p|) * min(lr, 1 / sqrt(t)) / max(1, |u| / d) * u, where |x| is the root of the mean
// square, and that of p is taken before its decay. eps1 bounds mean(row) from below, and eps1^2 v.
// maximize negates the gradient first. A step needs whole parameters. Its state is row_var and
// col_var, or variance for a tensor of at most one dim.
class Adafactor final : public GroupedOptimizer<AdafactorOptions>, public WholeShapes {
 public:
  Adafactor(const std::vector<Tensor>& parameters, const AdafactorOptions& options = {})
      : Adafactor(std::vector<Group>{{parameters, options}}) {}
  explicit Adafactor(std::vector<Group> groups) : GroupedOptimizer(std::move(groups)) {}

  std::vector<std::string> state_names(std::size_t parameter) const override;
  Tensor new_state(std::size_t parameter, const std::string& name) const override;
  bool needs_whole(std::size_t) const override { return true; }
  bool is_state_like_parameter(std::size_t, const std::string& name) const override {
    return name == "variance";
  }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
  Tensor variance_of(std::size_t index, const Tensor& gradient, double eps1);
};

}  // namespace simmesh::optim
