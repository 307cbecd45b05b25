#include "core/nn/block.h"

#include "core/ops/elementwise/pointwise.h"

namespace simmesh::nn {

Block::Block(Children children) {
  register_child("norm1", std::move(children.norm1));
  register_child("attn", std::move(children.attn));
  register_child("norm2", std::move(children.norm2));
  register_child("mlp", std::move(children.mlp));
}

Tensors Block::forward(const Tensors& inputs) {
  Tensor x = add(inputs[0], child("attn")(child("norm1")(inputs[0])));
  return {add(x, child("mlp")(child("norm2")(x)))};
}

}  // namespace simmesh::nn
