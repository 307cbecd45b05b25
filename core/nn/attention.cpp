#include <simmesh/core/check/error.h>
#include <simmesh/core/nn/attention.h>
#include <simmesh/core/nn/linear.h>
#include <simmesh/core/ops/attention.h>
#include <simmesh/core/ops/views.h>

namespace simmesh::nn {

Attention::Attention(const Options& options) : heads_(options.heads), causal_(options.causal) {
  if (options.heads <= 0 || options.width % options.heads != 0)
    raise(ErrorKind::value_error, "nn/attention", "expected heads that divide the width {}, got {}",
          options.width, options.heads);
  for (const char* name : {"wq", "wk", "wv", "wo"})
    register_child(name, std::make_shared<Linear>(Linear::Options{
                             options.width, options.width, options.bias, options.parameters}));
}

Tensors Attention::forward(const Tensors& inputs) {
  const Tensor& x = inputs[0];
  std::int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  auto headed = [&](const char* name) {
    return transpose(view(child(name)(x), {batch, length, heads_, width / heads_}), 1, 2);
  };
  Tensor q = headed("wq"), k = headed("wk"), v = headed("wv");
  Tensor mixed = scaled_dot_product_attention(q, k, v, {.is_causal = causal_});
  return {child("wo")(reshape(transpose(mixed, 1, 2), {batch, length, width}))};
}

}  // namespace simmesh::nn
