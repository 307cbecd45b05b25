#include "sharding/typed/global_rule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {

namespace {

// Operations on each element by itself, of one tensor and of two.
constexpr std::array<std::string_view, 37> pointwise_of_one = {
    "abs",        "add_scalar", "clamp",      "clone",      "contiguous", "cos",
    "detach",     "div_scalar", "dropout",    "erf",        "exp",        "float",
    "gelu",       "isnan",      "log",        "mul_scalar", "neg",        "ones_like",
    "positive",   "pow",        "reciprocal", "relu",       "rsqrt",      "scalar_add",
    "scalar_div", "scalar_mul", "scalar_sub", "sigmoid",    "sign",       "silu",
    "sin",        "sqrt",       "square",     "sub_scalar", "tanh",       "to",
    "zeros_like"};
constexpr std::array<std::string_view, 8> pointwise_of_two = {
    "add", "sub", "mul", "div", "maximum", "minimum", "greater", "pow_tensor"};

bool is_one_of(gsl::span<const std::string_view> names, std::string_view op) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// A cut of the result along an axis: a dim, or a partial type.
struct Cut {
  bool is_partial = false;
  std::int64_t dim = 0;
};

using Cuts = std::vector<std::optional<std::int64_t>>;

class AxisRule {
 public:
  AxisRule(const GlobalCall& call, std::string axis) : call_(call), axis_(std::move(axis)) {
    for (const LocalOperand& operand : call.operands)
      if (!operand.is_number) {
        cuts_.push_back(cut_dim(operand.tensor.spec, axis_));
        shapes_.push_back(operand.tensor.shape);
        dims_.push_back(std::int64_t(operand.tensor.shape.size()));
      }
  }

  Cut follow() const {
    if (cuts_.size() == 1 && is_one_of(pointwise_of_one, call_.op)) return kept(*cuts_[0]);
    if (cuts_.size() == 2 && is_one_of(pointwise_of_two, call_.op)) return of_both();
    if (call_.op == "cat" || call_.op == "cat3") return joined();
    if (call_.op == "matmul" || call_.op == "mm" || call_.op == "bmm") return product(false);
    if (call_.op == "linear") return product(true);
    if (cuts_.size() == 1) return of_one(*cuts_[0]);
    refuse();
  }

 private:
  static Cut kept(std::int64_t dim) { return {.dim = dim}; }

  [[noreturn]] void refuse() const { throw TypeRefusal(RefusalCode::no_strategy, axis_); }

  std::int64_t named_dim(std::size_t at, std::int64_t dims) const {
    std::int64_t dim = at < call_.dims.size() ? call_.dims[at] : 0;
    return dim < 0 ? dim + dims : dim;
  }

  std::vector<std::int64_t> reduced_dims() const {
    std::vector<std::int64_t> dims;
    for (std::size_t at = 0; at < std::max<std::size_t>(call_.dims.size(), 1); ++at)
      dims.push_back(named_dim(at, dims_[0]));
    return dims;
  }

  // The place of a dim once the reduced ones are gone.
  std::int64_t after_reduction(std::int64_t dim) const {
    if (call_.keeps_dim) return dim;
    std::vector<std::int64_t> dims = reduced_dims();
    return dim - std::count_if(dims.begin(), dims.end(), [&](auto each) { return each < dim; });
  }

  bool reduces(std::int64_t dim) const {
    std::vector<std::int64_t> dims = reduced_dims();
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  }

  Cut of_one(std::int64_t cut) const {
    std::string_view op = call_.op;
    std::int64_t first = named_dim(0, dims_[0]), second = named_dim(1, dims_[0]);
    if (op == "t") first = 0, second = 1;
    if (op == "transpose" || op == "t")
      return kept(cut == first ? second : cut == second ? first : cut);
    if (op == "unsqueeze") {
      std::int64_t place = named_dim(0, dims_[0] + 1);
      return kept(cut >= place ? cut + 1 : cut);
    }
    if (op == "softmax" || op == "log_softmax") {
      if (cut == first) refuse();
      return kept(cut);
    }
    if (op == "flatten") {
      if (cut != 0) throw TypeRefusal(RefusalCode::strided_shard, axis_);
      return kept(0);
    }
    if (op == "sum") return {.is_partial = true};
    if (op == "sum_dim") return reduces(cut) ? Cut{.is_partial = true} : kept(after_reduction(cut));
    if (op == "mean") throw TypeRefusal(RefusalCode::not_sum);
    if (op == "amax" || op == "mean_dim") {
      if (reduces(cut)) throw TypeRefusal(RefusalCode::not_sum);
      return kept(after_reduction(cut));
    }
    refuse();
  }

  bool all_cut_alike() const {
    return std::all_of(cuts_.begin(), cuts_.end(),
                       [&](const auto& cut) { return cut && *cut == *cuts_[0]; });
  }

  // Dims line up from the last on. An operand without the cut dim, or with size 1 there, is the
  // same for all pieces.
  Cut of_both() const {
    std::int64_t dims = std::max(dims_[0], dims_[1]);
    std::size_t from = cuts_[0] ? 0 : 1;
    std::int64_t place = *cuts_[from] + dims - dims_[from];
    for (std::size_t at = 0; at < 2; ++at) {
      std::int64_t own = place - dims + dims_[at];
      bool is_alike = own < 0 || shapes_[at][std::size_t(own)] == 1;
      if (cuts_[at] ? *cuts_[at] != own : !is_alike) refuse();
    }
    return kept(place);
  }

  Cut joined() const {
    if (!cuts_[0] || !all_cut_alike() || *cuts_[0] == named_dim(0, dims_[0])) refuse();
    return kept(*cuts_[0]);
  }

  // A product over the last dim of the left operand; the right one is transposed in "linear".
  Cut product(bool is_transposed) const {
    if (cuts_.size() < 2 || dims_[0] < 2 || dims_[1] < 2) refuse();
    const auto &left = cuts_[0], &right = cuts_[1];
    std::int64_t dims = dims_[0], summed = dims_[1] - (is_transposed ? 1 : 2);
    std::int64_t columns = 2 * dims_[1] - 3 - summed;
    bool has_bias = cuts_.size() == 3;
    if (left == dims - 1 && right == summed && !has_bias) return {.is_partial = true};
    bool is_row = left && (*left == dims - 2 || (*left < dims - 2 && dims_[1] == 2));
    if (is_row && !right && (!has_bias || !cuts_[2])) return kept(*left);
    bool fits_bias = !has_bias || cuts_[2] == dims_[2] - 1;
    if (!left && right == columns && fits_bias) return kept(std::max(dims, dims_[1]) - 1);
    bool is_batch = left && left == right && *left < dims - 2 && dims == dims_[1];
    if (is_batch && !has_bias) return kept(*left);
    refuse();
  }

  const GlobalCall& call_;
  std::string axis_;
  Cuts cuts_;
  std::vector<Shape> shapes_;
  std::vector<std::int64_t> dims_;
};

// The axes that cut operands, in the order in which the operands' specs name them.
std::vector<std::string> cutting_axes(gsl::span<const LocalOperand> operands) {
  std::vector<std::string> axes;
  for (const LocalOperand& operand : operands)
    for (const std::vector<std::string>& of_dim : operand.tensor.spec)
      for (const std::string& axis : of_dim)
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  return axes;
}

}  // namespace

void require_cuts(const TypedTensor& tensor) {
  if (!tensor.types) return;
  for (const auto& [axis, type] : *tensor.types)
    if (type == SpmdType::varying && !cut_dim(tensor.spec, axis))
      throw TypeRefusal(RefusalCode::no_spec, axis);
}

TypedTensor infer_global(const GlobalCall& call, const TypingContext& context) {
  for (const LocalOperand& operand : call.operands)
    if (!operand.is_number) require_cuts(operand.tensor);
  TypedTensor result{.types = infer_local(call.op, call.operands, context)};
  result.shape = Shape(std::size_t(call.result_dims), 1);
  for (const std::string& axis : cutting_axes(call.operands)) {
    Cut cut = AxisRule(call, axis).follow();
    if (cut.is_partial)
      result.set_type(axis, {SpmdType::partial});
    else
      result.set_type(axis, {SpmdType::varying, cut.dim});
  }
  return result;
}

}  // namespace simmesh::typed
