#include <algorithm>

#include <simmesh/core/ops/compute_mode.h>
#include <simmesh/core/ops/inplace.h>
#include <simmesh/core/ops/promotion.h>
#include <simmesh/core/tensor/convert.h>
#include <simmesh/fsdp/gradient_rows.h>
#include <simmesh/fsdp/reduce.h>
#include <simmesh/fsdp/reduce_carried.h>

namespace simmesh::fsdp {

namespace {

DType reduction_dtype(const std::vector<ParamGrad>& gradients, const ReduceSetting& setting) {
  if (setting.reduce_dtype) return *setting.reduce_dtype;
  DType dtype = gradients.front().grad.value.dtype();
  for (const ParamGrad& entry : gradients) dtype = promote_types(dtype, entry.grad.value.dtype());
  return dtype;
}

void divide(Tensor& tensor, double divisor) {
  if (divisor != 1.0) div_(tensor, divisor);
}

// Reducer runs the collectives of one reduction and tells observers of them.
class Reducer {
 public:
  Reducer(const ReduceSetting& setting, const DivideFactors& factors)
      : setting_(setting), factors_(factors) {}

  Tensor scattered(const Tensor& input) const {
    const ProcessGroup& group = setting_.mesh->shard_group;
    if (group.size() == 1) {
      Tensor output = input.clone();
      divide(output, factors_.copy);
      return output;
    }
    Tensor output = *setting_.reduce_scatter
                        ? (*setting_.reduce_scatter)(input, factors_.reduce_scatter, group)
                        : reduce_scatter(input, factors_.reduce_scatter, {.dim = 0}, group);
    emit({.kind = EventKind::reduce_scatter,
          .group = setting_.group,
          .group_size = group.size(),
          .op = factors_.reduce_scatter.op,
          .input = input,
          .output = output,
          .output_numel = output.element_count()});
    return output;
  }

  Tensor all_reduced(const Tensor& input) const {
    const ProcessGroup& group = *setting_.mesh->replicate_group;
    Tensor output = all_reduce(input, factors_.all_reduce, group);
    emit({.kind = EventKind::all_reduce,
          .group = setting_.group,
          .group_size = group.size(),
          .op = factors_.all_reduce.op,
          .input = input,
          .output = output});
    return output;
  }

 private:
  const ReduceSetting& setting_;
  const DivideFactors& factors_;
};

Tensor flat_input(const std::vector<ParamGrad>& gradients, DType dtype, std::int64_t ranks) {
  std::int64_t row = 0, offset = 0;
  for (const ParamGrad& entry : gradients) row += entry.param->padded_numel();
  Tensor flat = zeros({row * ranks}, dtype);
  for (const ParamGrad& entry : gradients) {
    Tensor value = converted(entry.grad.value, dtype);
    put_gradient_rows(flat, value, *entry.param, {.ranks = ranks, .row = row, .offset = offset});
    offset += entry.param->padded_numel();
  }
  return flat;
}

void give_out(const Tensor& flat, const std::vector<ParamGrad>& gradients) {
  std::int64_t offset = 0;
  for (const ParamGrad& entry : gradients) {
    std::int64_t numel = entry.param->padded_numel();
    entry.param->add_sharded_grad(
        flat.narrow({0, offset, numel}).view(entry.param->padded_shape()));
    offset += numel;
  }
}

}  // namespace

void reduce_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                      std::optional<PartialReduction>& partial) {
  NoGrad mode;
  Ledger::Category category(MemoryCategory::communication);
  if (current_arithmetic().is_exact())
    return reduce_carried_gradients(std::move(gradients), setting, partial);
  for (ParamGrad& entry : gradients)
    if (entry.grad.carried) entry.grad.value = entry.grad.carried->value();
  DType dtype = reduction_dtype(gradients, setting);
  const MeshInfo& mesh = *setting.mesh;
  DivideFactors factors = divide_factors({.shard_size = mesh.shard_size(),
                                          .data_parallel_size = mesh.data_parallel_size(),
                                          .reduce_dtype = dtype,
                                          .factor = setting.divide_factor,
                                          .force_sum = setting.force_sum});
  Reducer reducer(setting, factors);
  Tensor input = flat_input(gradients, dtype, mesh.shard_size());
  divide(input, factors.before);
  for (ParamGrad& entry : gradients) entry.grad = {};
  Tensor output = reducer.scattered(input);
  if (mesh.replicate_group) {
    if (partial) output = add_(output, partial->flat);
    partial.reset();
    if (!setting.all_reduces) {
      partial = PartialReduction{output, {}};
      return;
    }
    output = reducer.all_reduced(output);
  }
  if (*setting.hook) (*setting.hook)(output);
  if (factors.after != 1.0) output = output.clone();
  divide(output, factors.after);
  give_out(converted(output, setting.orig_dtype), gradients);
}

}  // namespace simmesh::fsdp
