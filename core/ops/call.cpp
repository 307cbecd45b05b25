#include "core/ops/call.h"

#include <algorithm>

#include "core/check/error.h"
#include "core/engine/run/known.h"
#include "core/memory/data_mode.h"
#include "core/ops/compute_mode.h"
#include "core/ops/input_conversion.h"
#include "core/ops/kernel_work.h"
#include "core/ops/memory_overlap.h"
#include "core/ops/op_observer.h"
#include "core/ops/op_span.h"
#include "core/ops/reused_results.h"
#include "core/tensor/convert.h"
#include "core/tensor/launch.h"

namespace simmesh {

namespace {

// Uses pointers: a span's iterators check every step, and each call runs this.
template <class Predicate>
const Tensor* first_of(gsl::span<const Tensor> inputs, Predicate is_it) {
  const Tensor* end = inputs.data() + inputs.size();
  for (const Tensor* input = inputs.data(); input != end; ++input)
    if (is_it(*input)) return input;
  return nullptr;
}

// Returns the first input with such an attachment, or null.
const Tensor* first_distributed(gsl::span<const Tensor> inputs) {
  return first_of(inputs, [](const Tensor& input) { return input.distribution() != nullptr; });
}

const Tensor* first_tracked(gsl::span<const Tensor> inputs) {
  return first_of(inputs, [](const Tensor& input) { return input.requires_grad(); });
}

std::vector<Tensor> detached(gsl::span<const Tensor> inputs) {
  std::vector<Tensor> result;
  result.reserve(inputs.size());
  for (const Tensor& input : inputs) result.push_back(input.detach());
  return result;
}

// Returns the shapes that a view rule gives, by views of no storage at all.
TensorTypes infer_view_types(const Op& op, gsl::span<const TensorType> inputs,
                             const Attributes& attributes) {
  std::vector<Tensor> shapes;
  for (const TensorType& type : inputs)
    shapes.emplace_back(StoragePtr(), type.dtype, type.shape, contiguous_strides(type.shape), 0);
  TensorTypes types = types_of(op.view(shapes, attributes));
  for (TensorType& type : types) type.is_defined = true;
  return types;
}

// Refuses freed inputs where no kernel runs that would.
void require_bytes(gsl::span<const Tensor> inputs) {
  for (const Tensor& input : inputs)
    if (input.storage()) input.storage()->require_bytes();
}

// A kernel is one operation of the device, whatever it calls.
void launch_op(const Op& op, gsl::span<const Tensor> inputs, gsl::span<const Tensor> outputs) {
  if (Clock* clock = Clock::active()) [[unlikely]]
    launch_on_clock(*clock, {.name = op.name.c_str(),
                             .reads = inputs,
                             .writes = outputs,
                             .operations = floating_operations(op, inputs, outputs)});
}

void run_kernel(const OpCall& call, gsl::span<const Tensor> inputs, gsl::span<Tensor> outputs) {
  launch_op(call.op, inputs, outputs);
  Clock::Quiet parts;
  const OpObserver::Observe* observe = OpObserver::active();
  Ledger::Uncharged workspace;
  if (observe) (*observe)(call.op, OpObserver::Moment::before);
  tell_error(call.op.name, [&] {
    if (DataMode::shapes_only())
      require_bytes(inputs);
    else
      call.op.kernel(inputs, call.attributes, outputs);
  });
  if (observe) (*observe)(call.op, OpObserver::Moment::after);
}

// Runs the kernel on plain tensors that aren't on the tape.
std::vector<Tensor> run_typed(const OpCall& call, gsl::span<const Tensor> inputs,
                              const TensorTypes& types) {
  bool is_meta = first_of(inputs, [](const Tensor& input) { return input.is_meta(); }) != nullptr;
  std::vector<Tensor> outputs;
  outputs.reserve(types.size());
  for (const TensorType& type : types)
    outputs.push_back(is_meta ? empty_meta(type.shape, type.dtype) : empty(type.shape, type.dtype));
  if (is_meta) return outputs;
  run_kernel(call, inputs, outputs);
  for (Tensor& output : outputs) output.storage()->set_changes(0);
  return outputs;
}

// Computes, unless an earlier run of the program has computed the same.
template <class Compute>
std::vector<Tensor> computed_once(const OpCall& call, const Compute& compute) {
  ReusedResults::Line* line = ReusedResults::Line::active();
  if (!line) [[likely]]
    return compute();
  return line->run({call.op, ComputedOp::Part::kernel, call.attributes, call.inputs}, compute);
}

// Runs kernel or view rule on plain tensors, without the tape.
std::vector<Tensor> run_untracked(const OpCall& call) {
  bool is_apart = !first_of(call.inputs, [](const Tensor& x) { return x.tracking() != nullptr; });
  std::vector<Tensor> apart;
  if (!is_apart) apart = detached(call.inputs);
  gsl::span<const Tensor> inputs = is_apart ? call.inputs : apart;
  if (call.op.view) return call.op.view(inputs, call.attributes);
  return run_typed(call, inputs, call.op.shape(types_of(inputs), call.attributes));
}

std::vector<Tensor> run_plain(const OpCall& call) {
  if (call.op.view) return run_untracked(call);
  return computed_once(call, [&] { return run_untracked(call); });
}

bool is_attached(const Tensor& tensor) { return tensor.distribution() || tensor.tracking(); }

bool are_of(gsl::span<const Tensor> tensors, const TensorTypes& types) {
  if (tensors.size() != types.size()) return false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const TensorType& type = types[i];
    if (tensor.dtype() != type.dtype || tensor.shape() != type.shape ||
        tensor.is_defined() != type.is_defined)
      return false;
  }
  return true;
}

std::vector<Tensor> compute(const OpCall& call) {
  const Tensor* distributed = first_distributed(call.inputs);
  if (!distributed && call.out && call.out->distribution()) distributed = call.out;
  return distributed ? distributed->distribution()->dispatch(call) : run_plain(call);
}

// Makes views known that the tape doesn't record, since nothing requires a gradient or gradients
// are disabled.
void record_plain_views(const OpCall& call, gsl::span<Tensor> outputs) {
  const Tensor& x = call.inputs[0];
  ViewKind kind = !grad_enabled()         ? ViewKind::unrecorded
                  : call.op.makes_several ? ViewKind::one_of_several
                                          : ViewKind::view;
  for (Tensor& output : outputs)
    if (output.storage() && output.storage() == x.storage()) output.make_view(x, kind);
}

// Returns the part of a tensor that a call writes: all of a plain one, the rank's piece of a
// distributed one.
Tensor written_part(const Tensor& tensor) { return tensor.local_part(); }

bool share_memory(const Tensor& a, const Tensor& b) {
  if (!a.has_elements() || !b.has_elements()) return a.storage() == b.storage();
  return a.storage()->buffer() == b.storage()->buffer();
}

// True if a kernel may write its only output directly: it is contiguous, and shares no memory with
// an input.
bool writes_directly(const OpCall& call, const Tensor& out) {
  if (call.op.view || out.distribution() || out.is_meta() || !out.is_contiguous()) return false;
  for (const Tensor& input : call.inputs)
    if (input.is_defined() && (input.distribution() || input.is_meta() || share_memory(input, out)))
      return false;
  TensorTypes types = call.op.shape(types_of(call.inputs), call.attributes);
  return types.size() == 1 && types[0].shape == out.shape() && types[0].dtype == out.dtype();
}

// Refuses to write what the call still reads, or writes twice. The tape's refusals come first, as
// in PyTorch.
void check_memory(const OpCall& call, const Tensor& self, const Tensor* tracked) {
  bool writes_alike =
      call.op.writes_alike && (call.inputs.size() == 1 || is_same_data(self, call.inputs[1]));
  if (writes_alike) return;
  try {
    check_overlaps(call.op, self, call.inputs);
  } catch (const Error&) {
    if (tracked) tracked->tracking()->begin_in_place(call, self);
    throw;
  }
}

// A result of a higher kind can't be written back.
void check_result_dtype(const Op& op, DType self, gsl::span<const Tensor> inputs,
                        const Attributes& attributes) {
  if (is_floating_point(self)) return;
  DType result = infer_types(op, types_of(inputs), attributes)[0].dtype;
  bool fits = !is_floating_point(result) && (self != DType::boolean || result == self);
  if (!fits)
    raise(ErrorKind::runtime_error, op.name,
          "result type {} can't be cast to the desired output type {}", to_string(result),
          to_string(self));
}

}  // namespace

TensorTypes infer_types(const Op& op, gsl::span<const TensorType> inputs,
                        const Attributes& attributes) {
  return op.view ? infer_view_types(op, inputs, attributes) : op.shape(inputs, attributes);
}

std::vector<Tensor> call(const Op& op, gsl::span<const Tensor> given,
                         const Attributes& attributes) {
  std::vector<Tensor> converted_ones = InputConversion::converted(op, given);
  gsl::span<const Tensor> inputs = converted_ones.empty() ? given : converted_ones;
  OpCall call{op, inputs, attributes};
  OpSpan span(call);
  std::vector<Tensor> outputs = compute(call);
  const Tensor* tracked = first_tracked(inputs);
  if (tracked && grad_enabled())
    tracked->tracking()->record(call, outputs);
  else if (op.view)
    record_plain_views(call, outputs);
  span.end(outputs);
  return outputs;
}

std::vector<Tensor> call_known(const Op& op, gsl::span<const Tensor> inputs,
                               const Attributes& attributes, KnownTypes& known) {
  if (op.view || InputConversion::is_open() || first_of(inputs, is_attached))
    return call(op, inputs, attributes);
  if (known.outputs.empty() || !are_of(inputs, known.inputs)) {
    known.inputs = types_of(inputs);
    known.outputs = op.shape(known.inputs, attributes);
  }
  OpCall call{op, inputs, attributes};
  OpSpan span(call);
  std::vector<Tensor> outputs =
      computed_once(call, [&] { return run_typed(call, inputs, known.outputs); });
  span.end(outputs);
  return outputs;
}

Tensor call_one(const Op& op, gsl::span<const Tensor> inputs, const Attributes& attributes) {
  std::vector<Tensor> outputs = call(op, inputs, attributes);
  SIMMESH_CHECK(outputs.size() == 1, "{} has {} outputs", op.name, outputs.size());
  return std::move(outputs.front());
}

Tensor& call_into(const Op& op, Tensor& out, gsl::span<const Tensor> inputs,
                  const Attributes& attributes) {
  if (grad_enabled() && (first_tracked(inputs) || out.requires_grad()))
    raise(ErrorKind::runtime_error, op.name,
          "expected no tensor that requires a gradient with an out argument, which the tape can't "
          "record");
  OpCall call{op, inputs, attributes, Destination::out, &out};
  OpSpan span(call);
  Tensor plain = written_part(out);
  std::uint32_t changes = plain.storage()->changes();
  if (writes_directly(call, out)) {
    run_kernel(call, detached(inputs), {&plain, 1});
  } else {
    std::vector<Tensor> outputs = compute(call);
    SIMMESH_CHECK(outputs.size() == 1, "{} has {} outputs", op.name, outputs.size());
    copy_(plain, written_part(outputs.front()));
  }
  plain.storage()->set_changes(changes + 1);
  span.end({&out, 1});
  return out;
}

Tensor& call_in_place(const Op& op, Tensor& self, gsl::span<const Tensor> inputs,
                      const Attributes& attributes) {
  check_result_dtype(op, self.dtype(), inputs, attributes);
  const Tensor* tracked = grad_enabled() ? first_tracked(inputs) : nullptr;
  if (tracked) tracked->tracking()->check_in_place(op, self);
  std::vector<Tensor> before(inputs.begin(), inputs.end());
  OpCall call{op, before, attributes, Destination::in_place};
  check_memory(call, self, tracked);
  OpSpan span(call);
  Tensor result = compute(call).front();
  if (result.shape() != self.shape())
    raise(ErrorKind::runtime_error, op.name,
          "expected a result of the shape {} of the tensor that is changed in place, got {}",
          to_string(DimSpan(self.shape())), to_string(DimSpan(result.shape())));
  std::unique_ptr<InPlaceRecord> record;
  if (tracked) {
    // The tape may save the old elements: those keep their bytes, and self gets others.
    before.front() = self.detach().clone();
    record = tracked->tracking()->begin_in_place(call, self);
  }
  Tensor plain = written_part(self);
  Tensor part = written_part(result);
  // A device would have written the result there at once.
  launch({.name = op.name.c_str(), .reads = {&part, 1}, .writes = {&plain, 1}, .device_bytes = 0});
  Clock::Quiet parts;
  std::uint32_t changes = plain.storage()->changes();
  adopt_(plain, converted(part, self.dtype()));
  plain.storage()->set_changes(changes + 1);
  if (record) record->finish(self);
  span.end({&self, 1});
  return self;
}

}  // namespace simmesh
