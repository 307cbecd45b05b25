#pragma once

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// Conv2d convolves x [batch, in, height, width] with a weight [out, in, size, size], and adds a
// bias [out] where it has one: see conv2d for the size of the result.
class Conv2d final : public Module {
 public:
  // Options are the sizes; stride and padding, in elements, are the same for height and width.
  struct Options {
    std::int64_t in;
    std::int64_t out;
    std::int64_t size;
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    bool bias = true;
    ParameterOptions parameters = {};
  };

  explicit Conv2d(const Options& options);
  Tensors forward(const Tensors& inputs) override;

 private:
  std::int64_t stride_, padding_;
  bool has_bias_;
};

}  // namespace simmesh::nn
