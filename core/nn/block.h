#pragma once

#include "core/nn/module.h"

namespace simmesh::nn {

// Block is a transformer's layer: x = x + attn(norm1(x)), then x + mlp(norm2(x)). Children in the
// order norm1, attn, norm2, mlp.
class Block final : public Module {
 public:
  // Children are the modules of the layer, each of one input and one output.
  struct Children {
    ModulePtr norm1;
    ModulePtr attn;
    ModulePtr norm2;
    ModulePtr mlp;
  };

  explicit Block(Children children);
  Tensors forward(const Tensors& inputs) override;
};

}  // namespace simmesh::nn
