#include "fsdp/reduce.h"

#include <algorithm>

#include "core/arithmetic/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/promotion.h"
#include "core/ops/reductions/unrounded_terms.h"
#include "core/tensor/convert.h"
#include "core/tensor/launch.h"
#include "fsdp/gradient_rows.h"

namespace simmesh::fsdp {

namespace {

DType reduction_dtype(const std::vector<ParamGrad>& gradients, const ReduceSetting& setting) {
  if (setting.reduce_dtype) return *setting.reduce_dtype;
  DType dtype = gradients.front().grad.dtype();
  for (const ParamGrad& entry : gradients) dtype = promote_types(dtype, entry.grad.dtype());
  return dtype;
}

void divide(Tensor& tensor, double divisor) {
  if (divisor != 1.0) div_(tensor, divisor);
}

// A view of the bytes as they are, which nothing on the device holds.
Tensor kept_for_observers(const Tensor& tensor) {
  Ledger::Uncharged host;
  Clock::Quiet no_copy;
  return tensor.clone();
}

// The ranks are those of the shard group, in a communicator of their own where that is asked for.
ProcessGroup scattering_group(const ReduceSetting& setting) {
  const ProcessGroup& group = setting.mesh->shard_group;
  if (!setting.has_own_group || group.size() == 1) return group;
  return ProcessGroup::of(group.members(), group.name() + " reduce_scatter");
}

// Reducer runs the collectives of one reduction and tells observers of them.
class Reducer {
 public:
  Reducer(const ReduceSetting& setting, const DivideFactors& factors)
      : setting_(setting), factors_(factors) {}

  // What comes out becomes the gradient.
  Tensor scattered(const Tensor& input) const {
    Ledger::Category category(MemoryCategory::gradient);
    const ProcessGroup group = scattering_group(setting_);
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

  // In place; observers see what it was.
  void all_reduce_in_place(Tensor& output) const {
    const ProcessGroup& group = *setting_.mesh->replicate_group;
    Tensor input = kept_for_observers(output);
    all_reduce_(output, factors_.all_reduce, group);
    emit({.kind = EventKind::all_reduce,
          .group = setting_.group,
          .group_size = group.size(),
          .op = factors_.all_reduce.op,
          .input = input,
          .output = output});
  }

 private:
  const ReduceSetting& setting_;
  const DivideFactors& factors_;
};

// Part of the copy, as the device sees it.
void scale_unrounded(Tensor& flat, double scale) {
  if (scale == 1.0 || !keeps_unrounded() || !flat.has_elements()) return;
  write_unrounded(flat, scaled(unrounded(flat), scale));
}

Tensor flat_input(const std::vector<ParamGrad>& gradients, DType dtype, std::int64_t ranks,
                  double scale) {
  std::int64_t row = 0, offset = 0;
  std::vector<Tensor> read;
  for (const ParamGrad& entry : gradients) row += entry.param->padded_numel();
  Tensor flat;
  {
    Clock::Quiet one_copy;
    flat = zeros({row * ranks}, dtype);
    for (const ParamGrad& entry : gradients) {
      Tensor value = converted_unrounded(entry.grad, dtype);
      put_gradient_rows(flat, value, *entry.param, {.ranks = ranks, .row = row, .offset = offset});
      offset += entry.param->padded_numel();
      read.push_back(entry.grad);
    }
  }
  scale_unrounded(flat, scale);
  launch({.name = "reduce_scatter_copy_in", .reads = read, .writes = {&flat, 1}});
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

Tensor reduction_input(const std::vector<ParamGrad>& gradients, DType dtype,
                       const ReduceSetting& setting, double scale) {
  bool on_other_pool = setting.streams->faults().reduce_input_on_other_pool;
  CachingAllocator* allocator = Ledger::active() ? Ledger::active()->allocator() : nullptr;
  StreamIndex own = allocator ? allocator->stream() : 0;
  if (on_other_pool && allocator) allocator->set_stream(setting.streams->reduce_scatter().index());
  Tensor input = flat_input(gradients, dtype, setting.mesh->shard_size(), scale);
  if (allocator) allocator->set_stream(own);
  return input;
}

// The end of a reduction, on the stream that reduced last.
StreamEvent finish_reduction(Tensor output, const ReduceSetting& setting,
                             const DivideFactors& factors, std::vector<ParamGrad>& gradients) {
  if (*setting.hook) (*setting.hook)(output);
  if (factors.after != 1.0) output = output.clone();
  divide(output, factors.after);
  give_out(converted_unrounded(output, setting.orig_dtype), gradients);
  return Stream::current().record();
}

// What was scattered is all-reduced in place, on a stream of its own. Its memory is of the pool of
// the stream that scattered.
StreamEvent reduce_over_replicas(Tensor output, const Reducer& reducer,
                                 const ReduceSetting& setting, const DivideFactors& factors,
                                 std::vector<ParamGrad>& gradients) {
  CommStreams& streams = *setting.streams;
  streams.all_reduce().wait(streams.reduce_scatter());
  StreamScope scope(streams.all_reduce());
  reducer.all_reduce_in_place(output);
  StreamEvent all_reduced = Stream::current().record();
  StreamEvent given = finish_reduction(output, setting, factors, gradients);
  bool too_early = streams.faults().all_reduce_buffer == AllReduceBuffer::until_all_reduce;
  streams.hold_all_reduce(std::move(output), too_early ? all_reduced : given);
  return given;
}

}  // namespace

StreamEvent reduce_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                             std::optional<PartialReduction>& partial) {
  NoGrad mode;
  UnroundedSums scope;
  Ledger::Category category(MemoryCategory::communication);
  DType dtype = reduction_dtype(gradients, setting);
  const MeshInfo& mesh = *setting.mesh;
  CommStreams& streams = *setting.streams;
  DivideFactors factors = divide_factors({.shard_size = mesh.shard_size(),
                                          .data_parallel_size = mesh.data_parallel_size(),
                                          .reduce_dtype = dtype,
                                          .factor = setting.divide_factor,
                                          .force_sum = setting.force_sum});
  Reducer reducer(setting, factors);
  Tensor input =
      reduction_input(gradients, dtype, setting, setting.sums_gradients ? factors.total : 1.0);
  for (ParamGrad& entry : gradients) entry.grad = {};
  if (!streams.faults().skips_reduce_wait) streams.reduce_scatter().wait(Stream::current());
  StreamScope on_stream(streams.reduce_scatter());
  divide(input, factors.before);
  Tensor output = reducer.scattered(input);
  streams.hold_reduce_input(std::move(input), Stream::current().record());
  if (!mesh.replicate_group) return finish_reduction(output, setting, factors, gradients);
  streams.release_all_reduce();
  if (partial) output = add_(output, partial->flat);
  partial.reset();
  if (setting.all_reduces)
    return reduce_over_replicas(std::move(output), reducer, setting, factors, gradients);
  partial = PartialReduction{output};
  return Stream::current().record();
}

}  // namespace simmesh::fsdp
