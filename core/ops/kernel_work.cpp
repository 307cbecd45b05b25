#include "core/ops/kernel_work.h"

#include <array>
#include <string_view>

namespace simmesh {

namespace {

// Products, with the input whose last dim is summed over.
struct CountedProduct {
  std::string_view name;
  std::size_t summed_input;
};
constexpr std::array<CountedProduct, 7> counted_products{
    {{"mm", 0}, {"bmm", 0}, {"mv", 0}, {"dot", 0}, {"linear", 0}, {"addmm", 1}, {"baddbmm", 1}}};

}  // namespace

double floating_operations(const Op& op, gsl::span<const Tensor> inputs,
                           gsl::span<const Tensor> outputs) {
  double elements = 0;
  for (const Tensor& output : outputs) elements += double(output.numel());
  for (const CountedProduct& product : counted_products) {
    if (product.name != op.name) continue;
    const Tensor& summed = inputs[product.summed_input];
    return 2 * elements * double(summed.size(summed.dim() - 1));
  }
  if (op.name == "convolution" && inputs[1].size(0) > 0) {
    std::int64_t window = inputs[1].numel() / inputs[1].size(0);
    return 2 * elements * double(window);
  }
  return elements;
}

}  // namespace simmesh
