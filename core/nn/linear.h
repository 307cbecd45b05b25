#pragma once

#include "core/nn/init.h"
#include "core/nn/module.h"

namespace simmesh::nn {

// Linear computes x W^T + b: x is [..., in], weight [out, in], bias [out].
class Linear final : public Module {
 public:
  // Options are the sizes, and whether there is a bias.
  struct Options {
    std::int64_t in;
    std::int64_t out;
    bool bias = true;
    ParameterOptions parameters = {};
  };

  explicit Linear(const Options& options);
  Tensors forward(const Tensors& inputs) override;

 private:
  bool has_bias_;
};

}  // namespace simmesh::nn
