#include "collectives/functional_collectives.h"

#include "core/autograd/function.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/engine/run/followed_release.h"
#include "core/ops/elementwise/comparison.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/logic.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/ops/elementwise/selection.h"

namespace simmesh::funcol {

namespace {

constexpr FunctionOptions moves_gradients = {.reduces_gradients = true};

// Returns a dim that counts from the end as one from the front. One out of range stays as it is,
// for the collective to refuse.
std::int64_t from_front(std::int64_t dim, const Tensor& tensor) {
  return dim < 0 && dim >= -tensor.dim() ? dim + tensor.dim() : dim;
}

bool is_extremum(ReduceOp op) { return op == ReduceOp::min || op == ReduceOp::max; }

void check_gradient_of_all_reduce(ReduceOp op) {
  if (op == ReduceOp::sum) return;
  constexpr std::string_view where = "collectives/all_reduce";
  if (!follows(ReleaseChange::all_reduce_gradients))
    raise(ErrorKind::runtime_error, where,
          "all_reduce backward only supports 'sum' reduction, got '{}'", to_string(op));
  if (op != ReduceOp::avg && op != ReduceOp::premul_sum && !is_extremum(op))
    raise(ErrorKind::runtime_error, where,
          "all_reduce backward only supports `sum`, `premul_sum`, `avg`, `max`, `min` reductions, "
          "got '{}'",
          to_string(op));
}

// Extremum keeps the operand and the result of an all_reduce to an extremum, for its backward pass.
class Extremum {
 public:
  Extremum() = default;
  Extremum(const Tensor& operand, const Tensor& result)
      : operand_(operand.detach()),
        result_(result.detach()),
        operand_changes_(operand.storage()->changes()),
        result_changes_(result.storage()->changes()) {}

  // is_held returns a tensor that is true where this member holds the extremum. Raises a
  // RuntimeError if one of the tensors was changed in place since.
  Tensor is_held() const {
    if (operand_.storage()->changes() != operand_changes_ ||
        result_.storage()->changes() != result_changes_)
      raise(ErrorKind::runtime_error, "collectives/all_reduce",
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation: expected the operand and the result as all_reduce left them");
    return logical_or(eq(operand_, result_), logical_and(isnan(operand_), isnan(result_)));
  }

 private:
  Tensor operand_, result_;
  std::uint32_t operand_changes_ = 0, result_changes_ = 0;
};

// Gives each holder of the extremum an equal share. The number of holders is exact in float32,
// which it need not be in the gradient's dtype.
Tensor shared_among_holders(const Tensor& sum, const Extremum& extremum, const ProcessGroup& group,
                            const CallSite& site) {
  Tensor is_held = extremum.is_held();
  Tensor holders = simmesh::all_reduce(to(is_held, DType::float32), ReduceOp::sum, group, site);
  return where(is_held, to(div(sum, holders), sum.dtype()), 0);
}

Tensor all_reduce_gradient(const Tensor& gradient, ReduceWith reduce, const Extremum& extremum,
                           const ProcessGroup& group, const CallSite& site) {
  check_gradient_of_all_reduce(reduce.op);
  if (!is_extremum(reduce.op)) return funcol::all_reduce(gradient, reduce, group, site);
  Tensor sum = funcol::all_reduce(gradient, ReduceOp::sum, group, site);
  return shared_among_holders(sum, extremum, group, site);
}

// Returns a rule for the gradient of the only output, in the form of the tape.
FunctionBackward of_one(std::function<Tensor(const Tensor& gradient)> rule) {
  return [rule = std::move(rule)](const std::vector<Tensor>& gradients) -> std::vector<Tensor> {
    return {gradients[0].is_defined() ? rule(gradients[0]) : Tensor()};
  };
}

// Raises for a negative dim that PyTorch 2.13 misreads: as one from the front, where it views the
// result as gathered.
void check_negative_dim(std::int64_t dim, const Tensor& tensor, const ProcessGroup& group) {
  bool is_misread = (dim == -1 || dim == -tensor.dim()) && group.size() > 1 && tensor.dim() > 0 &&
                    tensor.size(0) == 1;
  if (is_misread && !follows(ReleaseChange::negative_gather_dim))
    raise(ErrorKind::runtime_error, "collectives/all_gather_tensor",
          "expected a gather_dim from 0 for a tensor whose first dim has size 1, got {} for shape "
          "{}: release 2.13 finds the shape invalid",
          dim, to_string(tensor.shape()));
}

}  // namespace

Tensor all_reduce(const Tensor& self, ReduceWith reduce, const ProcessGroup& group, CallSite site) {
  Tensor result = simmesh::all_reduce(self.detach(), reduce, group, site);
  Extremum extremum;
  if (is_extremum(reduce.op)) extremum = Extremum(self, result);
  record_function("all_reduce", {self}, {&result}, of_one([=](const Tensor& gradient) {
                    return all_reduce_gradient(gradient, reduce, extremum, group, site);
                  }),
                  moves_gradients);
  return result;
}

Tensor all_gather_tensor(const Tensor& self, std::int64_t gather_dim, const ProcessGroup& group,
                         CallSite site) {
  check_negative_dim(gather_dim, self, group);
  std::int64_t dim = from_front(gather_dim, self);
  Tensor result = all_gather(self.detach(), {.dim = dim}, group, site);
  record_function("all_gather_tensor", {self}, {&result}, of_one([=](const Tensor& gradient) {
                    return reduce_scatter_tensor(gradient, ReduceOp::sum, dim, group, site);
                  }),
                  moves_gradients);
  return result;
}

Tensor reduce_scatter_tensor(const Tensor& self, ReduceWith reduce, std::int64_t scatter_dim,
                             const ProcessGroup& group, CallSite site) {
  std::int64_t dim = from_front(scatter_dim, self);
  Tensor result = reduce_scatter(self.detach(), reduce, {.dim = dim}, group, site);
  record_function("reduce_scatter_tensor", {self}, {&result}, of_one([=](const Tensor& gradient) {
                    if (reduce.op != ReduceOp::sum)
                      raise(ErrorKind::runtime_error, "collectives/reduce_scatter_tensor",
                            "reduce_scatter_tensor backward only supports 'sum' reduction, got "
                            "'{}'",
                            to_string(reduce.op));
                    return all_gather_tensor(gradient, dim, group, site);
                  }),
                  moves_gradients);
  return result;
}

Tensor all_to_all_single(const Tensor& self, const Splits& splits, const ProcessGroup& group,
                         CallSite site) {
  Tensor result = simmesh::all_to_all_single(self.detach(), splits, group, site);
  Splits back{.input = splits.output, .output = splits.input};
  record_function("all_to_all_single", {self}, {&result}, of_one([=](const Tensor& gradient) {
                    return funcol::all_to_all_single(gradient, back, group, site);
                  }),
                  moves_gradients);
  return result;
}

}  // namespace simmesh::funcol
