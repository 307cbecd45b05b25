#include "core/samples/families.h"

namespace simmesh {

namespace {

// The numbers of "reduction": none, mean, sum.
Attributes reduced(std::int64_t reduction) { return {{"reduction", reduction}}; }
Attributes nll(std::int64_t reduction, std::int64_t ignore_index = -100) {
  return {{"reduction", reduction}, {"ignore_index", ignore_index}};
}

Attributes over_last(const SampleSizes& sizes, double eps) {
  return {{"normalized_shape", Dims{sizes['c']}}, {"eps", eps}};
}

OpSample::Sized normalized_operands(std::int64_t parameters) {
  return [parameters](const SampleSizes& sizes) -> Attributes {
    return {{"of", std::string("layer_norm")},
            {"normalized_shape", Dims{sizes['c']}},
            {"parameters", parameters}};
  };
}
Attributes loss_operands(std::int64_t reduction) {
  return {{"of", std::string("nll_loss")}, {"reduction", reduction}};
}

Attributes window(std::int64_t padding, std::int64_t groups) {
  Attributes attributes = {
      {"stride", Dims{1, 1}}, {"padding", Dims{padding, padding}}, {"dilation", Dims{1, 1}}};
  attributes.set("groups", groups);
  return attributes;
}

std::vector<OpSample> loss_samples() {
  return {
      {"_softmax", "ab", {{"dim", std::int64_t(0)}}},
      {"_softmax", "abc", {{"dim", std::int64_t(-1)}}},
      {"_log_softmax", "ab", {{"dim", std::int64_t(0)}}},
      {"_log_softmax", "abc", {{"dim", std::int64_t(-1)}}},
      {"_softmax_backward_data", "ab p:ab", along(0)},
      {"_softmax_backward_data", "abc p:abc", along(2)},
      {"_log_softmax_backward_data", "ab ab", along(0)},
      {"_log_softmax_backward_data", "abc abc", along(2)},
      {"nll_loss_forward", "ab i<b:a", nll(0)},
      {"nll_loss_forward", "d:ab i<b:a", nll(1)},
      {"nll_loss_forward", "ab i<b:a", nll(2)},
      {"nll_loss_forward", "ab i<b:a p:b", nll(1)},
      {"nll_loss_forward", "ab i<b:a p:b", nll(2, 1)},
      {"nll_loss_forward", "d:ab i<b:a", nll(1, 0)},
      {"nll_loss_forward", "abc i<b:ac", nll(2)},
      {"gradient_operands", "a ab i<b:a .", loss_operands(0)},
      {"gradient_operands", ". ab i<b:a . b", loss_operands(1)},
      {"gradient_operands", ". abc i<b:ac .", loss_operands(2)},
      {"mse_loss", "ab ab", reduced(0)},
      {"mse_loss", "d:ab d:ab", reduced(1)},
      {"mse_loss", "ab ab", reduced(2)},
      {"binary_cross_entropy_with_logits", "ab ab - -", reduced(0)},
      {"binary_cross_entropy_with_logits", "ab ab ab b", reduced(0)},
      {"binary_cross_entropy_with_logits", "ab ab - -", reduced(1)},
      {"binary_cross_entropy_with_logits", "ab ab b -", reduced(2)},
  };
}

std::vector<OpSample> normalization_samples() {
  OpSample::Sized small_eps = [](const SampleSizes& sizes) { return over_last(sizes, 1e-5); };
  OpSample::Sized large_eps = [](const SampleSizes& sizes) { return over_last(sizes, 0.5); };
  OpSample::Sized both = [](const SampleSizes& sizes) -> Attributes {
    return {{"normalized_shape", Dims{sizes['b'], sizes['c']}}, {"eps", 1e-5}};
  };
  Attributes groups = {{"eps", 1e-5}};
  groups.set("groups", std::int64_t(2));
  return {
      {"native_layer_norm", "abc - -", {}, small_eps},
      {"native_layer_norm", "ac c c", {}, large_eps},
      {"native_layer_norm", "abc bc bc", {}, both},
      {"gradient_operands", "abc abc ab1 ab1", {}, normalized_operands(0)},
      {"gradient_operands", "abc abc ab1 c", {}, normalized_operands(1)},
      {"gradient_operands", "abc abc ab1 c c", {}, normalized_operands(2)},
      {"_fused_rms_norm", "abc -", {}, small_eps},
      {"_fused_rms_norm", "ac c", {}, large_eps},
      {"native_group_norm", "a4b - -", groups},
      {"native_group_norm", "a4b 4 4", groups},
      {"native_batch_norm", "ab - - - -", {{"training", true}, {"eps", 1e-5}}},
      {"native_batch_norm", "abc b b - -", {{"training", true}, {"eps", 0.5}}},
      {"native_batch_norm", "ab b b b p:b", {{"training", false}, {"eps", 1e-5}}},
  };
}

Attributes pooling() {
  return {{"kernel_size", Dims{2, 2}}, {"stride", Dims{2, 2}}, {"padding", Dims{1, 1}}};
}
Attributes averaging(bool count_include_pad) {
  Attributes attributes = pooling();
  attributes.set("count_include_pad", count_include_pad);
  return attributes;
}

// The last window begins at the last row.
Attributes beyond_the_end() {
  return {{"kernel_size", Dims{2, 2}},
          {"stride", Dims{3, 3}},
          {"padding", Dims{0, 0}},
          {"ceil_mode", true},
          {"count_include_pad", true}};
}

// Returns the sizes of the images whose gradient is taken.
OpSample::Sized of_images(const Attributes& attributes) {
  return [attributes](const SampleSizes& sizes) {
    Attributes all = attributes;
    all.set("input_sizes", Dims{sizes['a'], sizes['b'], 4, 4});
    return all;
  };
}

std::vector<OpSample> pooling_samples() {
  Attributes adaptive = {{"output_size", Dims{3, 2}}};
  return {
      {"max_pool2d_with_indices", "ab44", pooling()},
      {"max_pool2d_with_indices", "ab44", beyond_the_end()},
      {"avg_pool2d", "ab44", averaging(true)},
      {"avg_pool2d", "ab44", averaging(false)},
      {"avg_pool2d", "ab44", beyond_the_end()},
      {"avg_pool2d", "ab44", adaptive},
      {"avg_pool2d_backward", "ab33", {}, of_images(averaging(true))},
      {"avg_pool2d_backward", "ab33", {}, of_images(averaging(false))},
      {"avg_pool2d_backward", "ab32", {}, of_images(adaptive)},
  };
}

std::vector<OpSample> image_samples() {
  return {
      {"convolution", "ab44 cb33", window(1, 1)},
      {"convolution", "ab33 cb22", window(0, 1)},
      {"convolution", "a433 4222", window(0, 2)},
      {"convolution_weight",
       "ab33 ac22",
       {},
       [](const SampleSizes& sizes) {
         Attributes attributes = window(0, 1);
         attributes.set("weight_size", Dims{sizes['c'], sizes['b'], 2, 2});
         return attributes;
       }},
      {"gradient_operands", "ab44 ac33", {{"of", std::string("convolution")}}},
      {"gradient_operands", "a422", {{"of", std::string("convolution")}}},
      {"flash_attention", "abc2 abd2 abd2", {{"is_causal", false}, {"scale", 0.5}}},
      {"flash_attention", "abc2 abc2 abc2", {{"is_causal", true}, {"scale", 1.0}}},
      {"flash_attention_backward", "abc2 abd2 abd2 abc2", {{"is_causal", false}, {"scale", 0.5}}},
      {"rotary_embedding", "abc4", {{"theta", 10000.0}, {"is_inverse", false}}},
      {"rotary_embedding", "ab2", {{"theta", 100.0}, {"is_inverse", true}}},
  };
}

}  // namespace

gsl::span<const OpSample> neural_samples() {
  static const std::vector<OpSample> samples = [] {
    std::vector<OpSample> list;
    for (const auto& part :
         {loss_samples(), normalization_samples(), pooling_samples(), image_samples()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return samples;
}

}  // namespace simmesh
