#include <algorithm>

#include <simmesh/core/tensor/convert.h>
#include <simmesh/fsdp/gradient_rows.h>
#include <simmesh/fsdp/reduce_carried.h>

namespace simmesh::fsdp {

namespace {

// A gradient as a sum of the parameter's dtype.
CarriedSum carried_of(const UnshardedGrad& grad, DType dtype) {
  if (grad.carried && grad.carried->dtype() == dtype) return *grad.carried;
  Tensor value = grad.carried ? grad.carried->value() : grad.value;
  CarriedSum sum(value.shape(), dtype);
  sum.add(converted(value, dtype));
  return sum;
}

// planes_of returns how many integers an element has: its limbs, and the count of infinities.
std::int64_t planes_of(const CarriedSum& sum) { return sum.limbs().size(0) + 1; }

// Planes are one after another in the flat buffer, each like a gradient of its own.
Tensor flat_limbs(const std::vector<CarriedSum>& sums, const std::vector<ParamGrad>& gradients,
                  std::int64_t ranks) {
  std::int64_t row = 0, offset = 0;
  for (std::size_t i = 0; i < sums.size(); ++i)
    row += gradients[i].param->padded_numel() * planes_of(sums[i]);
  Tensor flat = zeros({row * ranks}, DType::int64);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const FSDPParam& param = *gradients[i].param;
    std::int64_t planes = planes_of(sums[i]);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      bool is_limb = plane + 1 < planes;
      if (is_limb || sums[i].non_finite().is_defined()) {
        Tensor whole = is_limb ? sums[i].limbs().narrow({0, plane, 1}).view(sums[i].shape())
                               : sums[i].non_finite();
        put_gradient_rows(flat, whole, param, {.ranks = ranks, .row = row, .offset = offset});
      }
      offset += param.padded_numel();
    }
  }
  return flat;
}

bool any_nonzero(const Tensor& counts) {
  auto values = counts.values<std::int64_t>();
  return std::any_of(values.begin(), values.end(), [](std::int64_t x) { return x != 0; });
}

std::vector<CarriedSum> sums_of(const Tensor& flat, const std::vector<ParamGrad>& gradients,
                                DType dtype) {
  std::vector<CarriedSum> sums;
  std::int64_t offset = 0;
  for (const ParamGrad& entry : gradients) {
    CarriedSum sum(entry.param->padded_shape(), dtype);
    std::int64_t numel = entry.param->padded_numel(), limbs = planes_of(sum) - 1;
    sum.replace_limbs(flat.narrow({0, offset, numel * limbs}).view(sum.limbs().shape()), 1);
    offset += numel * limbs;
    Tensor counts = flat.narrow({0, offset, numel}).view(sum.shape());
    if (counts.has_elements() && any_nonzero(counts)) sum.replace_non_finite(counts);
    offset += numel;
    sums.push_back(std::move(sum));
  }
  return sums;
}

// Each rank sees that its own part leaves room for those of the others.
void check_room(const std::vector<CarriedSum>& sums, std::int64_t ranks) {
  for (CarriedSum sum : sums) sum.replace_limbs(sum.limbs().clone(), ranks);
}

Tensor summed_over_replicas(const Tensor& flat, const ReduceSetting& setting,
                            const DivideFactors& factors, DType dtype, std::int64_t numel) {
  const ProcessGroup& group = *setting.mesh->replicate_group;
  emit({.kind = EventKind::all_reduce,
        .group = setting.group,
        .group_size = group.size(),
        .op = factors.all_reduce.op,
        .input = empty_meta(Dims{numel}, dtype)});
  return all_reduce(flat, ReduceOp::sum, group);
}

Tensor scattered(const Tensor& flat, const ReduceSetting& setting, const DivideFactors& factors,
                 DType dtype, std::int64_t numel) {
  const ProcessGroup& group = setting.mesh->shard_group;
  if (group.size() == 1) return flat.clone();
  emit({.kind = EventKind::reduce_scatter,
        .group = setting.group,
        .group_size = group.size(),
        .op = factors.reduce_scatter.op,
        .input = empty_meta(Dims{numel * group.size()}, dtype),
        .output_numel = numel});
  return reduce_scatter(flat, ReduceOp::sum, {.dim = 0}, group);
}

}  // namespace

StreamEvent reduce_carried_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                                     std::optional<PartialReduction>& partial) {
  const MeshInfo& mesh = *setting.mesh;
  DType dtype = setting.orig_dtype;
  const UnshardedGrad& first = gradients.front().grad;
  DType named =
      setting.reduce_dtype.value_or(first.carried ? first.carried->dtype() : first.value.dtype());
  DivideFactors factors = divide_factors({.shard_size = mesh.shard_size(),
                                          .data_parallel_size = mesh.data_parallel_size(),
                                          .reduce_dtype = named,
                                          .factor = setting.divide_factor,
                                          .force_sum = setting.force_sum});
  std::vector<CarriedSum> sums;
  std::int64_t numel = 0;
  for (ParamGrad& entry : gradients) {
    sums.push_back(carried_of(entry.grad, dtype));
    numel += entry.param->padded_numel();
    entry.grad = {};
  }
  check_room(sums, mesh.data_parallel_size());
  Tensor input = flat_limbs(sums, gradients, mesh.shard_size());
  const Stream& stream = setting.streams->reduce_scatter();
  stream.wait(Stream::current());
  StreamScope scope(stream);
  Tensor flat = scattered(input, setting, factors, named, numel);
  setting.streams->hold_reduce_input(std::move(input), stream.record());
  sums = sums_of(flat, gradients, dtype);
  if (mesh.replicate_group) {
    if (partial)
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add(partial->carried.at(i));
    partial.reset();
    if (!setting.all_reduces) {
      partial = PartialReduction{{}, std::move(sums)};
      return stream.record();
    }
    flat = summed_over_replicas(flat_limbs(sums, gradients, 1), setting, factors, named, numel);
    sums = sums_of(flat, gradients, dtype);
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    gradients[i].param->add_sharded_grad(sums[i], factors.total);
  return stream.record();
}

}  // namespace simmesh::fsdp
