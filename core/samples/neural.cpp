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
      {"_fused_rms_norm", "abc -", {}, small_eps},
      {"_fused_rms_norm", "ac c", {}, large_eps},
      {"native_group_norm", "a4b - -", groups},
      {"native_group_norm", "a4b 4 4", groups},
      {"native_batch_norm", "ab - - - -", {{"training", true}, {"eps", 1e-5}}},
      {"native_batch_norm", "abc b b - -", {{"training", true}, {"eps", 0.5}}},
      {"native_batch_norm", "ab b b b p:b", {{"training", false}, {"eps", 1e-5}}},
  };
}

std::vector<OpSample> image_samples() {
  Attributes pool = {{"kernel_size", Dims{2, 2}}, {"stride", Dims{2, 2}}, {"padding", Dims{1, 1}}};
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
      {"max_pool2d_with_indices", "ab44", pool},
      {"flash_attention", "abc2 abd2 abd2", {{"is_causal", false}, {"scale", 0.5}}},
      {"flash_attention", "abc2 abc2 abc2", {{"is_causal", true}, {"scale", 1.0}}},
      {"flash_attention_backward", "abc2 abd2 abd2 abc2", {{"is_causal", false}, {"scale", 0.5}}},
  };
}

}  // namespace

gsl::span<const OpSample> neural_samples() {
  static const std::vector<OpSample> samples = [] {
    std::vector<OpSample> list;
    for (const auto& part : {loss_samples(), normalization_samples(), image_samples()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return samples;
}

}  // namespace simmesh
