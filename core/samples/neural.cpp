#include "core/ops/attribute_names.h"
#include "core/ops/kernels/normalized_groups.h"
#include "core/ops/kernels/windows.h"
#include "core/ops/neural/attention.h"
#include "core/ops/neural/batch_normalization.h"
#include "core/ops/neural/convolution.h"
#include "core/ops/neural/gradient_operands.h"
#include "core/ops/neural/losses.h"
#include "core/ops/neural/pooling.h"
#include "core/ops/neural/rotary.h"
#include "core/samples/sample_list.h"

namespace simmesh {

namespace {

// The numbers of "reduction": none, mean, sum.
Attributes reduced(std::int64_t reduction) { return {attribute::reduction = reduction}; }
Attributes reduced(std::int64_t reduction, NamedAttribute width) {
  Attributes attributes = reduced(reduction);
  attributes.set(std::move(width));
  return attributes;
}
Attributes nll(std::int64_t reduction, std::int64_t ignore_index = -100) {
  return {attribute::reduction = reduction, attribute::ignore_index = ignore_index};
}

Attributes over_last(const SampleSizes& sizes, double eps) {
  return {attribute::normalized_shape = Dims{sizes['c']}, attribute::eps = eps};
}

OpSample::Sized normalized_operands(std::int64_t parameters) {
  return [parameters](const SampleSizes& sizes) -> Attributes {
    return {attribute::of = "layer_norm", attribute::normalized_shape = Dims{sizes['c']},
            attribute::parameters = parameters};
  };
}
Attributes loss_operands(std::int64_t reduction) {
  return {attribute::of = "nll_loss", attribute::reduction = reduction};
}

Attributes window(std::int64_t padding, std::int64_t groups, std::size_t dims = 2) {
  Attributes attributes = {attribute::stride = Dims(dims, 1),
                           attribute::padding = Dims(dims, padding),
                           attribute::dilation = Dims(dims, 1)};
  attributes.set(attribute::groups = groups);
  return attributes;
}

std::vector<OpSample> loss_samples() {
  return {
      {"_softmax", "ab", {attribute::dim = 0}},
      {"_softmax", "abc", {attribute::dim = -1}},
      {"_log_softmax", "ab", {attribute::dim = 0}},
      {"_log_softmax", "abc", {attribute::dim = -1}},
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
      {"huber_loss", "ab ab", reduced(0, attribute::delta = 0.75)},
      {"huber_loss", "d:ab d:ab", reduced(1, attribute::delta = 0.75)},
      {"huber_loss", "ab b", reduced(2, attribute::delta = 0.75)},
      {"smooth_l1_loss", "ab ab", reduced(0, attribute::beta = 0.5)},
      {"smooth_l1_loss", "d:ab d:ab", reduced(1, attribute::beta = 0.5)},
      {"smooth_l1_loss", "ab b", reduced(2, attribute::beta = 0.5)},
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
    return {attribute::normalized_shape = Dims{sizes['b'], sizes['c']}, attribute::eps = 1e-5};
  };
  Attributes groups = {attribute::eps = 1e-5};
  groups.set(attribute::groups = 2);
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
      {"native_batch_norm", "ab - - - -", {attribute::training = true, attribute::eps = 1e-5}},
      {"native_batch_norm", "abc b b - -", {attribute::training = true, attribute::eps = 0.5}},
      {"native_batch_norm", "ab b b b p:b", {attribute::training = false, attribute::eps = 1e-5}},
  };
}

Attributes pooling() {
  return {attribute::kernel_size = Dims{2, 2}, attribute::stride = Dims{2, 2},
          attribute::padding = Dims{1, 1}};
}
Attributes averaging(bool count_include_pad) {
  Attributes attributes = pooling();
  attributes.set(attribute::count_include_pad = count_include_pad);
  return attributes;
}

// The last window begins at the last row.
Attributes beyond_the_end() {
  return {attribute::kernel_size = Dims{2, 2}, attribute::stride = Dims{3, 3},
          attribute::padding = Dims{0, 0}, attribute::ceil_mode = true,
          attribute::count_include_pad = true};
}

// Returns the sizes of the images whose gradient is taken.
OpSample::Sized of_images(const Attributes& attributes) {
  return [attributes](const SampleSizes& sizes) {
    Attributes all = attributes;
    all.set(attribute::input_sizes = Dims{sizes['a'], sizes['b'], 4, 4});
    return all;
  };
}

std::vector<OpSample> pooling_samples() {
  Attributes adaptive = {attribute::output_size = Dims{3, 2}};
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
      {"convolution", "ab4 cb3", window(1, 1, 1)},
      {"convolution", "ab333 cb222", window(0, 1, 3)},
      {"convolution_weight",
       "ab33 ac22",
       {},
       [](const SampleSizes& sizes) {
         Attributes attributes = window(0, 1);
         attributes.set(attribute::weight_size = Dims{sizes['c'], sizes['b'], 2, 2});
         return attributes;
       }},
      {"gradient_operands", "ab44 ac33", {attribute::of = "convolution"}},
      {"gradient_operands", "a422", {attribute::of = "convolution"}},
      {"scaled_dot_product_attention",
       "abc2 abd2 abd2",
       {attribute::is_causal = false, attribute::scale = 0.5}},
      {"flash_attention", "abc2 abd2 abd2", {attribute::is_causal = false, attribute::scale = 0.5}},
      {"flash_attention", "abc2 abc2 abc2", {attribute::is_causal = true, attribute::scale = 1.0}},
      {"flash_attention_backward",
       "abc2 abd2 abd2 abc2",
       {attribute::is_causal = false, attribute::scale = 0.5}},
      {"rotary_embedding", "abc4", {attribute::theta = 10000.0, attribute::is_inverse = false}},
      {"rotary_embedding", "ab2", {attribute::theta = 100.0, attribute::is_inverse = true}},
  };
}

}  // namespace

void neural_samples(SampleList& list) {
  list.add(loss_samples());
  list.add(normalization_samples());
  list.add(pooling_samples());
  list.add(image_samples());
}

}  // namespace simmesh
