#include "sharding/typed/global_rule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "sharding/typed/type_refusal.h"

namespace simmesh::typed {

namespace {

constexpr std::array<std::string_view, 16> pointwise_of_one = {
    "neg",        "relu",       "gelu",       "clone",      "zeros_like", "add_scalar",
    "sub_scalar", "mul_scalar", "div_scalar", "scalar_add", "scalar_sub", "scalar_mul",
    "scalar_div", "positive",   "detach",     "contiguous"};
constexpr std::array<std::string_view, 5> pointwise_of_two = {"add", "sub", "mul", "div",
                                                              "maximum"};

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
        dims_.push_back(std::int64_t(operand.tensor.shape.size()));
      }
  }

  Cut follow() const {
    if (cuts_.size() == 1 && is_one_of(pointwise_of_one, call_.op)) return kept(*cuts_[0]);
    if (cuts_.size() == 2 && is_one_of(pointwise_of_two, call_.op)) return of_both();
    if (call_.op == "cat" || call_.op == "cat3") return joined();
    if (call_.op == "matmul" || call_.op == "mm") return product();
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

  // The place of a dim once the reduced one is gone.
  std::int64_t after_reduction(std::int64_t dim, std::int64_t reduced) const {
    return dim > reduced && !call_.keeps_dim ? dim - 1 : dim;
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
    if (op == "softmax") {
      if (cut == first) refuse();
      return kept(cut);
    }
    if (op == "flatten") {
      if (cut != 0) throw TypeRefusal(RefusalCode::strided_shard, axis_);
      return kept(0);
    }
    if (op == "sum") return {.is_partial = true};
    if (op == "sum_dim")
      return cut == first ? Cut{.is_partial = true} : kept(after_reduction(cut, first));
    if (op == "mean") throw TypeRefusal(RefusalCode::not_sum);
    if (op == "amax" || op == "mean_dim") {
      if (cut == first) throw TypeRefusal(RefusalCode::not_sum);
      return kept(after_reduction(cut, first));
    }
    refuse();
  }

  bool all_cut_alike() const {
    return std::all_of(cuts_.begin(), cuts_.end(),
                       [&](const auto& cut) { return cut && *cut == *cuts_[0]; });
  }

  Cut of_both() const {
    if (!cuts_[0] || !all_cut_alike()) refuse();
    return kept(*cuts_[0]);
  }

  Cut joined() const {
    if (!cuts_[0] || !all_cut_alike() || *cuts_[0] == named_dim(0, dims_[0])) refuse();
    return kept(*cuts_[0]);
  }

  Cut product() const {
    if (cuts_.size() != 2 || dims_[0] != 2 || dims_[1] != 2) refuse();
    if (cuts_[0] == 0 && !cuts_[1]) return kept(0);
    if (!cuts_[0] && cuts_[1] == 1) return kept(1);
    if (cuts_[0] == 1 && cuts_[1] == 0) return {.is_partial = true};
    refuse();
  }

  const GlobalCall& call_;
  std::string axis_;
  Cuts cuts_;
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
