#include "zero/replicate.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/ops/compute_mode.h"
#include "core/tensor/flat.h"

namespace simmesh {

namespace {

constexpr std::string_view source = "zero/replicate";

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

// Bucket is a list of gradients of one dtype that are reduced together.
struct Bucket {
  DType dtype = DType::float32;
  std::vector<std::size_t> members;  // indices of parameters
  std::size_t bytes = 0;
  std::size_t pending = 0;  // gradients that are missing in this backward pass
  // The reduced tensor, kept until the reduction has ended.
  Tensor flat;
  Work work;
};

std::vector<Bucket> make_buckets(const std::vector<Tensor>& parameters, std::size_t bytes_max) {
  std::vector<Bucket> buckets;
  // For each dtype, the bucket that still has room.
  std::vector<std::optional<std::size_t>> open(std::size(all_dtypes));
  for (std::size_t i = parameters.size(); i-- > 0;) {
    std::optional<std::size_t>& index = open[std::size_t(parameters[i].dtype())];
    if (!index) {
      index = buckets.size();
      buckets.emplace_back().dtype = parameters[i].dtype();
    }
    Bucket& bucket = buckets[*index];
    bucket.members.push_back(i);
    bucket.bytes += parameters[i].bytes();
    if (bucket.bytes >= bytes_max) index.reset();
  }
  return buckets;
}

}  // namespace

// State is owned by the pre-hook of the module. The hooks of the leaves only refer to it, because
// it owns the leaves.
struct Replication::State {
  enum class Phase : std::uint8_t {
    idle,          // no forward pass since the last reduction
    accumulating,  // the last forward pass had no gradient sync
    expecting,     // waiting for the gradients of a backward pass
  };

  State(std::vector<Tensor> leaves, const ProcessGroup& over, const ReplicateOptions& given,
        const CallSite& called)
      : parameters(std::move(leaves)),
        group(over),
        options(given),
        site(called),
        buckets(make_buckets(parameters, given.bucket_bytes)) {}

  void begin() {
    if (!grad_enabled()) return;
    phase = requires_sync ? Phase::expecting : Phase::accumulating;
    ready.assign(parameters.size(), false);
    next_bucket = 0;
    queued = false;
    for (Bucket& bucket : buckets) bucket.pending = bucket.members.size();
  }

  void gradient_came(std::size_t index);
  void start(Bucket& bucket);
  void finish();
  void write_back(Bucket& bucket, const std::vector<bool>& unused);
  std::vector<bool> unused_by_all();

  std::vector<Tensor> parameters;
  ProcessGroup group;
  ReplicateOptions options;
  CallSite site;
  std::vector<Bucket> buckets;
  std::vector<std::size_t> bucket_of;
  std::vector<bool> ready;
  std::size_t next_bucket = 0;
  bool requires_sync = true;
  bool queued = false;
  Phase phase = Phase::idle;
};

namespace {

using State = Replication::State;

// Describes all parameters and buffers, one per line.
std::string layout_of(const std::vector<nn::NamedTensor>& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors)
    text += fmt::format("{} {}{}\n", name, to_string(tensor.dtype()),
                        to_string(DimSpan(tensor.shape())));
  return text;
}

void check_same_layout(const std::string& own, const ProcessGroup& group, const CallSite& site) {
  std::string first = broadcast_object(own, 0, group, site);
  if (own == first) return;
  std::size_t at = 0;
  while (at < own.size() && at < first.size() && own[at] == first[at]) ++at;
  auto line_at = [at](const std::string& text) {
    if (at >= text.size()) return std::string("no further parameter");
    std::size_t begin = at == 0 ? text.npos : text.rfind('\n', at - 1);
    begin = begin == text.npos ? 0 : begin + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  raise(ErrorKind::runtime_error, source,
        "rank {}: expected the parameters of rank {}, {} among them, got {}", group.owner().id(),
        group.members()[0], line_at(first), line_at(own));
}

void take_values_of_first(const std::vector<nn::NamedTensor>& tensors, const ProcessGroup& group,
                          const CallSite& site) {
  Ledger::Category category(MemoryCategory::communication);
  for (DType dtype : all_dtypes) {
    std::vector<Tensor> same;
    for (const auto& [name, tensor] : tensors)
      if (tensor.dtype() == dtype) same.push_back(tensor.detach());
    if (same.empty()) continue;
    Tensor values = broadcast(flattened(same, dtype), 0, group, site);
    std::vector<Tensor> parts = flat_parts(values, shapes_of(same));
    for (std::size_t i = 0; i < same.size(); ++i) copy_(same[i], parts[i]);
  }
}

}  // namespace

void State::gradient_came(std::size_t index) {
  if (phase == Phase::accumulating) return;
  if (phase == Phase::idle)
    raise(
        ErrorKind::runtime_error, source,
        "expected one backward pass after each forward pass of a replicated module, got a second");
  if (ready[index])
    raise(ErrorKind::runtime_error, source,
          "expected one gradient of parameter {} per backward pass, got two", index);
  ready[index] = true;
  --buckets[bucket_of[index]].pending;
  if (!queued) {
    queued = true;
    queue_callback([this] { finish(); });
  }
  while (next_bucket < buckets.size() && buckets[next_bucket].pending == 0)
    start(buckets[next_bucket++]);
}

void State::start(Bucket& bucket) {
  NoGrad unrecorded;
  Ledger::Category category(MemoryCategory::communication);
  UnroundedSums scope;
  std::vector<Tensor> gradients;
  for (std::size_t index : bucket.members) {
    Tensor gradient = grad_of(parameters[index]);
    gradients.push_back(gradient.is_defined() ? gradient.detach()
                                              : zeros(parameters[index].shape(), bucket.dtype));
  }
  bucket.flat = flattened(gradients, bucket.dtype);
  bucket.work =
      all_reduce_async(bucket.flat, options.average ? ReduceOp::avg : ReduceOp::sum, group, site);
}

void State::finish() {
  NoGrad unrecorded;
  Ledger::Category category(MemoryCategory::gradient);
  while (next_bucket < buckets.size()) start(buckets[next_bucket++]);
  std::vector<bool> unused = unused_by_all();
  for (Bucket& bucket : buckets) {
    write_back(bucket, unused);
    bucket.work = Work();
    bucket.flat = Tensor();
  }
  phase = Phase::idle;
}

std::vector<bool> State::unused_by_all() {
  std::vector<bool> unused(parameters.size(), false);
  if (!options.find_unused) return unused;
  Tensor used = zeros({std::int64_t(parameters.size())}, DType::int64);
  auto own = used.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    own[i] = grad_of(parameters[i]).is_defined() ? 1 : 0;
  Tensor total = all_reduce(used, ReduceOp::sum, group, site);
  auto users = total.values<std::int64_t>();
  for (std::size_t i = 0; i < parameters.size(); ++i) unused[i] = users[i] == 0;
  return unused;
}

void State::write_back(Bucket& bucket, const std::vector<bool>& unused) {
  Tensor sum = bucket.work.wait();
  std::vector<Tensor> members;
  for (std::size_t index : bucket.members) members.push_back(parameters[index]);
  std::vector<Tensor> parts = flat_parts(sum, shapes_of(members));
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!unused[bucket.members[i]]) set_grad(members[i], parts[i]);
}

void Replication::set_requires_gradient_sync(bool value) { state_->requires_sync = value; }
std::size_t Replication::bucket_count() const { return state_->buckets.size(); }

Replication replicate(nn::Module& module, const ProcessGroup& group,
                      const ReplicateOptions& options, CallSite called) {
  CallSite site = labelled(called, "replicate");
  std::vector<nn::NamedTensor> tensors = module.named_parameters();
  std::vector<Tensor> leaves;
  for (const auto& [name, parameter] : tensors)
    if (parameter.requires_grad()) leaves.push_back(parameter);
  for (const auto& [name, submodule] : module.named_modules())
    for (const nn::ParameterSlot& buffer : submodule->buffers())
      tensors.emplace_back(name + "." + buffer.name, buffer.tensor);
  for (const auto& [name, tensor] : tensors)
    if (tensor.is_meta())
      raise(ErrorKind::runtime_error, source, "expected parameters with values, got {} on meta",
            name);
  check_same_layout(layout_of(tensors), group, site);
  if (options.init_sync) take_values_of_first(tensors, group, site);

  auto state = std::make_shared<State>(std::move(leaves), group, options, site);
  state->bucket_of.resize(state->parameters.size());
  for (std::size_t b = 0; b < state->buckets.size(); ++b)
    for (std::size_t index : state->buckets[b].members) state->bucket_of[index] = b;
  for (std::size_t i = 0; i < state->parameters.size(); ++i)
    register_accumulate_hook(state->parameters[i], [weak = std::weak_ptr(state), i](Tensor&) {
      if (auto alive = weak.lock()) alive->gradient_came(i);
    });
  module.add_pre_hook([state](nn::Module&, nn::Tensors inputs) {
    state->begin();
    return inputs;
  });
  return Replication(state);
}

}  // namespace simmesh
