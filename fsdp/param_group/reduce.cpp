#include "fsdp/param_group/reduce.h"

#include <gsl/span>

#include "core/arithmetic/sums/scaled_sums.h"
#include "core/arithmetic/unrounded.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/call_contents.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/conversion.h"
#include "core/ops/elementwise/inplace.h"
#include "core/ops/promotion.h"
#include "core/tensor/flat.h"
#include "core/tensor/launch.h"
#include "fsdp/param/gradient_rows.h"

namespace simmesh::fsdp {

namespace {

DType gradient_dtype(const ParamGrad& entry) {
  return entry.param->unsharded_grad_dtype().value_or(entry.grad.dtype());
}

DType reduction_dtype(const std::vector<ParamGrad>& gradients, const PartialSums& partial) {
  DType dtype = partial.is_empty() ? gradient_dtype(gradients.front()) : partial.dtype();
  for (const ParamGrad& entry : gradients) dtype = promote_types(dtype, gradient_dtype(entry));
  return dtype;
}

void divide(Tensor& tensor, double divisor) {
  if (divisor != 1.0) div_(tensor, divisor);
}

// Returns a view of the current bytes, which nothing on the device holds.
Tensor kept_for_observers(const Tensor& tensor) {
  Ledger::Uncharged host;
  Clock::Quiet no_copy;
  return tensor.clone();
}

// Returns the group of the shards, with a communicator of its own where that is asked for.
ProcessGroup scattering_group(const ReduceSetting& setting) {
  const ProcessGroup& group = setting.mesh.shard_group;
  if (!setting.has_own_group || group.size() == 1) return group;
  return ProcessGroup::of(group.members(), group.name() + " reduce_scatter");
}

Tensor reduce_scattered(const Tensor& input, ReduceWith reduce, const ProcessGroup& group,
                        const ReduceSetting& setting) {
  const ReduceScatter& custom = setting.reduce_scatter;
  Tensor output;
  if (custom.allocate)
    output = allocated(custom.allocate, {input.numel() / group.size()}, input.dtype());
  if (custom.call)
    return custom.call({.input = input, .output = output, .reduce = reduce, .group = group});
  if (!output.is_defined()) return reduce_scatter(input, reduce, {.dim = 0}, group, setting.site);
  reduce_scatter_(output, input, reduce, {.dim = 0}, group, setting.site);
  return output;
}

// Reducer runs the collectives of one reduction and tells observers of them.
class Reducer {
 public:
  Reducer(const ReduceSetting& setting, const DivideFactors& factors)
      : setting_(setting), factors_(factors) {}

  // The output becomes the gradient.
  Tensor scattered(const Tensor& input) const {
    Ledger::Category category(MemoryCategory::gradient);
    const ProcessGroup group = scattering_group(setting_);
    if (group.size() == 1) {
      Tensor output = input.clone();
      divide(output, factors_.copy);
      return output;
    }
    Tensor output = reduce_scattered(input, factors_.reduce_scatter, group, setting_);
    emit({.kind = EventKind::reduce_scatter,
          .group = &setting_.group,
          .group_size = group.size(),
          .op = factors_.reduce_scatter.op,
          .input = input,
          .output = output,
          .output_numel = output.numel()});
    return output;
  }

  // Reduces in place; observers see the former elements.
  void all_reduce_in_place(Tensor& output, const ProcessGroup& replicas) const {
    Tensor input = kept_for_observers(output);
    all_reduce_(output, factors_.all_reduce, replicas, setting_.site);
    emit({.kind = EventKind::all_reduce,
          .group = &setting_.group,
          .group_size = replicas.size(),
          .op = factors_.all_reduce.op,
          .input = input,
          .output = output});
  }

 private:
  const ReduceSetting& setting_;
  const DivideFactors& factors_;
};

// A device would do this as a part of the copy.
void scale_unrounded(Tensor& flat, double scale) {
  if (scale == 1.0 || !keeps_unrounded() || !flat.has_elements()) return;
  write_unrounded(flat, scaled(unrounded(flat), scale));
}

Tensor zeroed_input(const CommAllocate& allocate, std::int64_t numel, DType dtype) {
  if (!allocate) return zeros({numel}, dtype);
  Tensor flat = allocated(allocate, {numel}, dtype);
  zero_(flat);
  return flat;
}

Tensor reduction_input(const std::vector<ParamGrad>& gradients, DType dtype,
                       const ReduceSetting& setting, double scale) {
  std::int64_t row = 0, offset = 0, ranks = setting.mesh.shard_size();
  std::vector<Tensor> read;
  for (const ParamGrad& entry : gradients) row += entry.param->padded_numel();
  Tensor flat;
  {
    Clock::Quiet one_copy;
    flat = zeroed_input(setting.reduce_scatter.allocate, row * ranks, dtype);
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

// GradientRun is the result for neighbouring parameters whose shards get gradients of one dtype, in
// that dtype.
struct GradientRun {
  gsl::span<const ParamGrad> gradients;
  Tensor flat;
};

// A part that needs no conversion is copied where it would otherwise keep a larger buffer alive.
std::vector<GradientRun> runs_of(const Tensor& flat, gsl::span<const ParamGrad> gradients) {
  std::vector<GradientRun> runs;
  std::int64_t offset = 0, converted_numel = 0;
  for (std::size_t first = 0, end = 0; first < gradients.size(); first = end) {
    std::optional<DType> dtype = gradients[first].param->sharded_grad_dtype();
    std::int64_t numel = 0;
    for (; end < gradients.size() && gradients[end].param->sharded_grad_dtype() == dtype; ++end)
      numel += gradients[end].param->padded_numel();
    Tensor part = numel == flat.numel() ? flat : flat.narrow({0, offset, numel});
    offset += numel;
    if (dtype.value_or(flat.dtype()) != flat.dtype()) converted_numel += numel;
    runs.push_back({gradients.subspan(first, end - first),
                    converted_unrounded(part, dtype.value_or(flat.dtype()))});
  }
  if (converted_numel > flat.numel() - converted_numel)
    for (GradientRun& run : runs)
      if (run.flat.storage() == flat.storage()) run.flat = run.flat.clone();
  return runs;
}

void give_out(const Tensor& flat, const std::vector<ParamGrad>& gradients, CommStreams& streams) {
  for (const GradientRun& run : runs_of(flat, gradients)) {
    std::vector<Shape> shapes;
    for (const ParamGrad& entry : run.gradients) shapes.push_back(entry.param->padded_shape());
    std::vector<Tensor> pieces = flat_parts(run.flat, shapes);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      run.gradients[i].param->add_sharded_grad(pieces[i], streams);
  }
}

// Ends a reduction, on the stream that reduced last.
StreamEvent finish_reduction(Tensor output, const ReduceSetting& setting,
                             const DivideFactors& factors,
                             const std::vector<ParamGrad>& gradients) {
  if (setting.hook.call) setting.hook.call(output);
  if (factors.after != 1.0) output = output.clone();
  divide(output, factors.after);
  give_out(output, gradients, setting.streams);
  return Stream::current().record();
}

// Among replicas, and where there is a hook, the scattered output is reduced further in place, on
// another stream. Its memory is of the pool of the stream that scattered.
StreamEvent reduce_further(Tensor output, const Reducer& reducer, const ReduceSetting& setting,
                           const DivideFactors& factors, const std::vector<ParamGrad>& gradients) {
  CommStreams& streams = setting.streams;
  Stream stream = setting.hook.stream.value_or(streams.all_reduce());
  stream.wait(streams.reduce_scatter());
  StreamScope scope(stream);
  if (setting.mesh.replicate_group)
    reducer.all_reduce_in_place(output, *setting.mesh.replicate_group);
  StreamEvent all_reduced = Stream::current().record();
  StreamEvent given = finish_reduction(output, setting, factors, gradients);
  streams.hold_all_reduce({std::move(output), all_reduced, given});
  return given;
}

}  // namespace

StreamEvent reduce_gradients(std::vector<ParamGrad> gradients, const ReduceSetting& setting,
                             PartialSums& partial) {
  NoGrad mode;
  KeepUnrounded scope;
  Ledger::Category category(MemoryCategory::communication);
  DType dtype = reduction_dtype(gradients, partial);
  const MeshInfo& mesh = setting.mesh;
  CommStreams& streams = setting.streams;
  DivideFactors factors = divide_factors({.shard_size = mesh.shard_size(),
                                          .data_parallel_size = mesh.data_parallel_size(),
                                          .reduce_dtype = dtype,
                                          .factor = setting.divide_factor,
                                          .force_sum = setting.force_sum});
  Reducer reducer(setting, factors);
  Tensor input =
      reduction_input(gradients, dtype, setting, setting.sums_gradients ? factors.total : 1.0);
  for (ParamGrad& entry : gradients) entry.grad = {};
  std::vector<std::string> names;
  for (const ParamGrad& entry : gradients) names.push_back(entry.param->name());
  CallContents contents(join_text(names, ", "));
  streams.wait_for_reduce_input();
  Stream computing = Stream::current();
  StreamScope on_stream(streams.reduce_scatter());
  divide(input, factors.before);
  Tensor output = reducer.scattered(input);
  streams.hold_reduce_input({.buffer = std::move(input),
                             .reduced = Stream::current().record(),
                             .allocated_on = computing,
                             .state = &setting.state});
  if (!mesh.replicate_group && !setting.hook.call)
    return finish_reduction(output, setting, factors, gradients);
  streams.release_all_reduce();
  if (!partial.is_empty()) {
    Tensor waiting = converted_unrounded(partial.take_for(gradients), dtype);
    output = add_(output, waiting);
  }
  if (!mesh.replicate_group || setting.all_reduces)
    return reduce_further(std::move(output), reducer, setting, factors, gradients);
  partial.keep(std::move(output), gradients);
  return Stream::current().record();
}

}  // namespace simmesh::fsdp
