#pragma once

#include <string>

#include "core/optim/grouped_optimizer.h"
#include "core/optim/matrix/inverse_root.h"
#include "core/optim/whole_shapes.h"

namespace simmesh::optim {

// ShampooGraft says whose length a step has: its own, or that of the momentum.
enum class ShampooGraft : std::uint8_t { none, momentum };

// ShampooOptions are those of Shampoo.
struct ShampooOptions {
  double lr = 1e-2;
  double beta1 = 0.9;
  // Weight of the former statistics; 1 adds the new ones up, as Adagrad does.
  double beta2 = 0.999;
  double weight_decay = 0.0;
  double ridge = 1e-8;  // see InverseRoot
  // Roots are computed in the first step and then every so many steps.
  std::int64_t every = 1;
  // A side of more rows than this has no preconditioner.
  std::int64_t size_max = 8192;
  ShampooGraft graft = ShampooGraft::none;
};

// Shampoo preconditions a matrix from both sides (Gupta et al. 2018): l = b2 l + (1 - b2) g g^T; r
// = b2 r + (1 - b2) g^T g; m = b1 m + (1 - b1) g; u = l^(-1/4) m r^(-1/4), with m divided by 1 -
// b1^t and l and r by 1 - b2^t; p = p (1 - lr * weight_decay) - lr * u. With one side, as of a
// vector, the root is l^(-1/2); with none u is m. A tensor of more dims counts as the matrix of its
// first dim. With graft u is scaled to the length of m.
//
// A step needs whole parameters. Its state is exp_avg, like the parameter, and left, right and
// their roots left_root and right_root, which are square, or empty where a side has none.
class Shampoo final : public GroupedOptimizer<ShampooOptions>, public WholeShapes {
 public:
  Shampoo(const std::vector<Tensor>& parameters, const ShampooOptions& options = {})
      : Shampoo(std::vector<Group>{{parameters, options}}) {}
  explicit Shampoo(std::vector<Group> groups);

  std::vector<std::string> state_names(std::size_t) const override {
    return {"exp_avg", "left", "left_root", "right", "right_root"};
  }
  Tensor new_state(std::size_t parameter, const std::string& name) const override;
  bool is_state_like_parameter(std::size_t, const std::string& name) const override {
    return name == "exp_avg";
  }
  bool needs_whole(std::size_t) const override { return true; }

 private:
  void update(std::size_t index, Tensor parameter, Tensor gradient) override;
  // A side of a parameter: its statistics and root, by name.
  void update_side(std::size_t index, const Tensor& gradient, const std::string& name,
                   std::int64_t root);
  Tensor direction(std::size_t index, const Tensor& momentum);
};

}  // namespace simmesh::optim
