#include "verify/pytorch/modules/case_module.h"

#include <fmt/format.h>
#include <limits>

#include "core/nn/embedding.h"
#include "core/nn/linear.h"
#include "core/nn/normalization.h"
#include "core/ops/elementwise/activations.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/matrices/products.h"
#include "core/ops/shapes/views.h"

namespace simmesh {

namespace {

constexpr std::int64_t size_max = 4096;

struct Sizes {
  const char* name;
  std::size_t integers;
  const char* last;  // the last module: none, "bias" or "norm"
};
constexpr Sizes known_modules[] = {{"linear", 2, "bias"},  {"mlp", 3, "bias"},   {"embed", 2, ""},
                                   {"head", 2, ""},        {"attention", 2, ""}, {"block", 3, ""},
                                   {"norm_mlp", 2, "norm"}};

nn::ModulePtr linear_layer(std::int64_t in, std::int64_t out, bool bias, DType dtype) {
  return std::make_shared<nn::Linear>(
      nn::Linear::Options{.in = in, .out = out, .bias = bias, .parameters = {.dtype = dtype}});
}

// A module with one child, which it calls.
struct Wrapper final : nn::Module {
  Wrapper(std::string name, nn::ModulePtr only) : child_name(name) {
    register_child(std::move(name), std::move(only));
  }
  nn::Tensors forward(const nn::Tensors& in) override { return {child(child_name)(in[0])}; }

  std::string child_name;
};

struct Mlp final : nn::Module {
  Mlp(std::int64_t d, std::int64_t h, std::int64_t o, bool bias, DType dtype) {
    register_child("net1", linear_layer(d, h, bias, dtype));
    register_child("net2", linear_layer(h, o, bias, dtype));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {child("net2")(relu(child("net1")(in[0])))};
  }
};

struct ReluAttention final : nn::Module {
  ReluAttention(std::int64_t d, std::int64_t head_size_in, DType dtype) : head_size(head_size_in) {
    for (const char* name : {"wq", "wk", "wv", "wo"})
      register_child(name, linear_layer(d, d, false, dtype));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    Tensor q = headed("wq", in[0]), k = headed("wk", in[0]), v = headed("wv", in[0]);
    Tensor mixed = transpose(matmul(relu(matmul(q, transpose(k, 2, 3))), v), 1, 2);
    Shape joined = {mixed.size(0), mixed.size(1), mixed.size(2) * head_size};
    return {child("wo")(reshape(mixed, joined))};
  }
  Tensor headed(const char* name, const Tensor& x) const {
    Tensor y = child(name)(x);
    return transpose(view(y, {y.size(0), y.size(1), y.size(2) / head_size, head_size}), 1, 2);
  }

  std::int64_t head_size;
};

struct ReluBlock final : nn::Module {
  ReluBlock(std::int64_t d, std::int64_t head_size, std::int64_t h, DType dtype) {
    register_child("attn", std::make_shared<ReluAttention>(d, head_size, dtype));
    register_child("mlp", std::make_shared<Mlp>(d, h, d, true, dtype));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    Tensor x = add(in[0], child("attn")(in[0]));
    return {add(x, child("mlp")(x))};
  }
};

struct NormMlp final : nn::Module {
  NormMlp(std::int64_t d, std::int64_t h, bool is_rms, DType dtype) {
    // PyTorch's RMSNorm uses the distance of 1 to the next number of the dtype as epsilon.
    double rms_eps = dtype == DType::float64 ? std::numeric_limits<double>::epsilon()
                                             : double(std::numeric_limits<float>::epsilon());
    nn::ModulePtr norm;
    if (is_rms)
      norm = std::make_shared<nn::RMSNorm>(
          nn::RMSNorm::Options{.width = d, .eps = rms_eps, .parameters = {.dtype = dtype}});
    else
      norm = std::make_shared<nn::LayerNorm>(
          nn::LayerNorm::Options{.width = d, .parameters = {.dtype = dtype}});
    register_child("norm", norm);
    register_child("mlp", std::make_shared<Mlp>(d, h, d, true, dtype));
  }
  nn::Tensors forward(const nn::Tensors& in) override {
    return {add(in[0], child("mlp")(child("norm")(in[0])))};
  }
};

}  // namespace

schema::Fields case_module_fields() {
  using namespace schema;
  std::vector<std::string> names;
  for (const Sizes& sizes : known_modules) names.push_back(sizes.name);
  return {required("module", word(names)),
          required("dims", list(either({integer({1, size_max}), flag(), word({"layer", "rms"})}),
                                {.min = 2, .max = 4}))};
}

CaseModule read_case_module(const RecordedCase& recorded) {
  CaseModule result{.name = recorded["module"].text(), .sizes = {}};
  std::vector<CaseField> entries = recorded["dims"].items();
  for (const Sizes& known : known_modules) {
    if (result.name != known.name) continue;
    std::string last = known.last;
    if (entries.size() != known.integers + !last.empty())
      recorded["dims"].reject(
          fmt::format("{} sizes{}", known.integers, last.empty() ? "" : " and the " + last));
    for (std::size_t i = 0; i < known.integers; ++i)
      result.sizes.push_back(entries[i].integer({1, size_max}));
    if (last == "bias") result.bias = entries.back().boolean();
    if (last == "norm") result.norm = entries.back().text();
  }
  bool has_heads = result.name == "attention" || result.name == "block";
  if (has_heads && result.sizes[0] % result.sizes[1] != 0)
    recorded["dims"].reject("a head size that divides the width");
  return result;
}

nn::ModulePtr make(const CaseModule& module, DType dtype) {
  const auto& size = module.sizes;
  if (module.name == "linear")
    return std::make_shared<Wrapper>("lin", linear_layer(size[0], size[1], module.bias, dtype));
  if (module.name == "head")
    return std::make_shared<Wrapper>("head", linear_layer(size[0], size[1], false, dtype));
  if (module.name == "embed")
    return std::make_shared<Wrapper>(
        "emb", std::make_shared<nn::Embedding>(nn::Embedding::Options{
                   .count = size[0], .width = size[1], .parameters = {.dtype = dtype}}));
  if (module.name == "mlp")
    return std::make_shared<Mlp>(size[0], size[1], size[2], module.bias, dtype);
  if (module.name == "attention") return std::make_shared<ReluAttention>(size[0], size[1], dtype);
  if (module.name == "block") return std::make_shared<ReluBlock>(size[0], size[1], size[2], dtype);
  return std::make_shared<NormMlp>(size[0], size[1], module.norm == "rms", dtype);
}

}  // namespace simmesh
