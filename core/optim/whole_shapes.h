#pragma once

#include <vector>

#include "core/optim/optimizer.h"

namespace simmesh::optim {

// WholeShapes keeps the shapes of an optimiser's parameters. Where the parameters are pieces of
// others, which are flat, set_whole_shapes says what the whole ones look like.
class WholeShapes {
 public:
  // Shapes are one for each parameter, in order.
  void set_whole_shapes(std::vector<Shape> shapes) { shapes_ = std::move(shapes); }

 protected:
  // whole_shape returns the given shape, by default that of the parameter itself.
  const Shape& whole_shape(const Optimizer& optimizer, std::size_t parameter) const {
    return shapes_.empty() ? optimizer.parameters()[parameter].shape() : shapes_.at(parameter);
  }

 private:
  std::vector<Shape> shapes_;
};

}  // namespace simmesh::optim
