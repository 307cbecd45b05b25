#include "core/autograd/autocast.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/ranks/local_state.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"

namespace simmesh {

namespace {

constexpr std::array<std::string_view, 10> lower_ops = {
    "addmm",           "baddbmm", "bmm", "convolution", "dot",
    "flash_attention", "linear",  "mm",  "mv",          "scaled_dot_product_attention"};
constexpr std::array<std::string_view, 10> float32_ops = {"binary_cross_entropy_with_logits",
                                                          "huber_loss",
                                                          "linalg_eigh",
                                                          "linalg_qr",
                                                          "linalg_solve",
                                                          "linalg_svd",
                                                          "mse_loss",
                                                          "nll_loss_forward",
                                                          "prod",
                                                          "smooth_l1_loss"};

template <class Names>
bool names_op(const Names& names, std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

struct InnermostAutocast {
  Autocast* scope = nullptr;
};

InnermostAutocast& innermost_autocast() { return local_state<InnermostAutocast>(); }

bool is_eligible(const Tensor& tensor) {
  return tensor.is_defined() && is_floating_point(tensor.dtype()) &&
         tensor.dtype() != DType::float64;
}

// True for a tensor whose conversion a scope keeps, as PyTorch does for weights.
bool is_weight(const Tensor& tensor, DType to) {
  return to != DType::float32 && tensor.dtype() == DType::float32 && tensor.requires_grad() &&
         grad_enabled() && Variable::of(tensor)->is_leaf() && !Variable::of(tensor)->view();
}

}  // namespace

AutocastPolicy autocast_policy(std::string_view op) {
  return names_op(lower_ops, op)     ? AutocastPolicy::lower
         : names_op(float32_ops, op) ? AutocastPolicy::float32
                                     : AutocastPolicy::as_given;
}

// Kept are the conversions of leaves, by their places on the tape. The leaf is kept so that no
// other tensor gets its place.
struct Autocast::Kept {
  struct Entry {
    Tensor leaf, lower;
  };
  std::map<const Tracking*, Entry> of_leaf;

  Tensor converted(const Tensor& tensor, DType dtype) {
    if (!is_weight(tensor, dtype)) return to(tensor, dtype);
    Entry& entry = of_leaf[tensor.tracking().get()];
    if (!entry.lower.is_defined()) entry = {tensor, to(tensor, dtype)};
    return entry.lower;
  }

  std::vector<Tensor> inputs(DType lower, const Op& op, gsl::span<const Tensor> given) {
    AutocastPolicy policy = autocast_policy(op.name);
    if (policy == AutocastPolicy::as_given) return {};
    DType dtype = policy == AutocastPolicy::lower ? lower : DType::float32;
    // From the last input on, as PyTorch does: the order of conversions on the tape is that in
    // which backward reaches the leaves, from the last on.
    std::vector<Tensor> result(given.begin(), given.end());
    for (std::size_t i = given.size(); i-- > 0;)
      if (is_eligible(given[i]) && given[i].dtype() != dtype)
        result[i] = converted(given[i], dtype);
    return result;
  }
};

Autocast::Autocast(DType dtype)
    : dtype_(dtype),
      kept_(std::make_unique<Kept>()),
      outer_(innermost_autocast().scope),
      conversion_([this](const Op& op, gsl::span<const Tensor> given) {
        return kept_->inputs(dtype_, op, given);
      }) {
  if (dtype != DType::bfloat16 && dtype != DType::float16)
    raise(ErrorKind::value_error, "autograd/autocast", "expected bfloat16 or float16, got {}",
          to_string(dtype));
  innermost_autocast().scope = this;
}

Autocast::~Autocast() { innermost_autocast().scope = outer_; }

Autocast::Remembered::Remembered() {
  if (const Autocast* scope = innermost_autocast().scope) {
    dtype_ = scope->dtype_;
    is_open_ = true;
  }
}

std::unique_ptr<Autocast> Autocast::Remembered::reopen() const {
  return is_open_ ? std::make_unique<Autocast>(dtype_) : nullptr;
}

}  // namespace simmesh
