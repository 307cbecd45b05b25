#include "ddp/replicate.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/collectives.h"
#include "core/autograd/backward.h"
#include "core/autograd/variable.h"
#include "core/check/error.h"
#include "core/check/join_text.h"
#include "core/engine/ranks/call_contents.h"
#include "core/ops/compute_mode.h"
#include "core/ops/elementwise/pointwise.h"
#include "core/tensor/flat.h"
#include "core/tensor/known_tensor.h"
#include "sharding/dtensor/dtensor.h"

namespace simmesh {

namespace {

constexpr std::string_view source = "zero/replicate";

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.local_part().shape());
  return shapes;
}

// Leaf is a parameter, its name and the index of the group over which its gradient is summed.
struct Leaf {
  std::string name;
  Tensor tensor;
  std::size_t partners;
};

// Bucket is a list of gradients of one dtype that are reduced together over one group.
struct Bucket {
  DType dtype = DType::float32;
  std::size_t partners = 0;
  std::vector<std::size_t> members;  // indices of parameters
  std::size_t bytes = 0;
  std::size_t missing = 0;  // gradients that this backward pass hasn't given yet
  // The reduced tensor, kept until the reduction has ended.
  Tensor flat;
  Work work;
};

std::vector<Bucket> make_buckets(const std::vector<Leaf>& parameters, std::size_t bytes_max) {
  std::vector<Bucket> buckets;
  // For each group and dtype, the bucket that still has room.
  std::map<std::pair<std::size_t, DType>, std::size_t> open;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const auto& [name, tensor, partners] = parameters[i];
    auto [place, is_new] = open.try_emplace({partners, tensor.dtype()}, buckets.size());
    if (is_new) buckets.emplace_back();
    Bucket& bucket = buckets[place->second];
    bucket.dtype = tensor.dtype();
    bucket.partners = partners;
    bucket.members.push_back(i);
    bucket.bytes += tensor.local_part().bytes();
    if (bucket.bytes >= bytes_max) open.erase(place);
  }
  return buckets;
}

// Returns the index of the group over which a parameter's gradient is summed: 0 for the module's
// group.
std::size_t partners_of(const Tensor& parameter, const ReplicateOptions& options) {
  for (std::size_t i = 0; i < options.apart.size(); ++i)
    for (const Tensor& one : options.apart[i].parameters)
      if (nn::is_same_tensor(one, parameter)) return i + 1;
  return 0;
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

  State(std::vector<Leaf> leaves, const ProcessGroup& over, const ReplicateOptions& given,
        const CallSite& called)
      : parameters(std::move(leaves)),
        groups{over},
        options(given),
        site(called),
        buckets(make_buckets(parameters, given.bucket_bytes)) {
    for (const ReplicatedApart& apart : given.apart) groups.push_back(apart.group);
  }

  void begin() {
    if (grad_enabled()) begin(requires_sync ? Phase::expecting : Phase::accumulating);
  }

  void begin(Phase next) {
    phase = next;
    ready.assign(parameters.size(), false);
    next_bucket = 0;
    queued = false;
    for (Bucket& bucket : buckets) bucket.missing = bucket.members.size();
  }

  void gradient_came(std::size_t index);
  void start(Bucket& bucket);
  void finish();
  void write_back(Bucket& bucket, const std::vector<bool>& unused);
  std::vector<bool> unused_by_all();
  void find_unused(std::size_t partners, std::vector<bool>& unused);

  std::vector<Leaf> parameters;
  std::vector<std::optional<ProcessGroup>> groups;  // by the number of partners
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
      if (tensor.dtype() == dtype) same.push_back(tensor.local_part().detach());
    if (same.empty()) continue;
    Tensor values = broadcast(flattened(same, dtype), 0, group, site);
    std::vector<Tensor> parts = flat_parts(values, shapes_of(same));
    for (std::size_t i = 0; i < same.size(); ++i) copy_(same[i], parts[i]);
  }
}

// All parameters and buffers, by the group that has the same ones.
using TensorsByPartners = std::vector<std::vector<nn::NamedTensor>>;

TensorsByPartners tensors_by_partners(nn::Module& module, const ReplicateOptions& options) {
  TensorsByPartners lists(options.apart.size() + 1);
  for (const auto& [name, parameter] : module.named_parameters())
    lists[partners_of(parameter, options)].emplace_back(name, parameter);
  for (const auto& [name, submodule] : module.named_modules())
    for (const nn::ParameterSlot& buffer : submodule->buffers())
      lists[0].emplace_back(name + "." + buffer.name, buffer.tensor);
  for (const auto& list : lists)
    for (const auto& [name, tensor] : list)
      if (tensor.is_meta())
        raise(ErrorKind::runtime_error, source, "expected parameters with values, got {} on meta",
              name);
  return lists;
}

void start_alike(const TensorsByPartners& lists, const ProcessGroup& group,
                 const ReplicateOptions& options, const CallSite& site) {
  for (std::size_t partners = 0; partners < lists.size(); ++partners) {
    std::optional<ProcessGroup> members = partners == 0 ? group : options.apart[partners - 1].group;
    if (!members) continue;
    check_same_layout(layout_of(lists[partners]), *members, site);
    if (options.init_sync) take_values_of_first(lists[partners], *members, site);
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
  --buckets[bucket_of[index]].missing;
  if (!queued) {
    queued = true;
    queue_callback([this] { finish(); });
  }
  while (next_bucket < buckets.size() && buckets[next_bucket].missing == 0)
    start(buckets[next_bucket++]);
}

void State::start(Bucket& bucket) {
  NoGrad unrecorded;
  Ledger::Category category(MemoryCategory::communication);
  KeepUnrounded scope;
  std::vector<Tensor> gradients;
  std::vector<std::string> names;
  for (std::size_t index : bucket.members) {
    const Tensor& parameter = parameters[index].tensor;
    names.push_back(parameters[index].name);
    Tensor gradient = grad_of(parameter);
    gradients.push_back(gradient.is_defined()
                            ? gradient.local_part().detach()
                            : zeros(parameter.local_part().shape(), bucket.dtype));
  }
  bucket.flat = flattened(gradients, bucket.dtype);
  const std::optional<ProcessGroup>& group = groups[bucket.partners];
  bool averages = options.average && bucket.partners == 0;
  CallContents contents(join_text(names, ", "));
  if (group)
    bucket.work =
        all_reduce_async(bucket.flat, averages ? ReduceOp::avg : ReduceOp::sum, *group, site);
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
  if (options.find_unused)
    for (std::size_t partners = 0; partners < groups.size(); ++partners)
      find_unused(partners, unused);
  return unused;
}

void State::find_unused(std::size_t partners, std::vector<bool>& unused) {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].partners == partners) members.push_back(i);
  if (members.empty()) return;
  Tensor used = zeros({std::int64_t(members.size())}, DType::int64);
  // Without values the other ranks count as using what this one does.
  for (std::size_t i = 0; i < members.size(); ++i) {
    unused[members[i]] = !grad_of(parameters[members[i]].tensor).is_defined();
    if (used.has_elements()) used.mutable_values<std::int64_t>()[i] = unused[members[i]] ? 0 : 1;
  }
  if (groups[partners]) used = all_reduce(used, ReduceOp::sum, *groups[partners], site);
  used = known_tensor(used, "the use of parameters");
  if (!used.has_elements()) return;
  auto users = used.values<std::int64_t>();
  for (std::size_t i = 0; i < members.size(); ++i) unused[members[i]] = users[i] == 0;
}

namespace {

// Returns this rank's piece of a gradient with the layout that the gradient has, or that of its
// parameter where this rank has none.
Tensor laid_out_as_gradient(const Tensor& parameter, const Tensor& piece) {
  if (!parameter.distribution()) return piece;
  Tensor gradient = grad_of(parameter);
  DTensor like = DTensor::of(gradient.is_defined() ? gradient : parameter);
  return DTensor(like.spec(), piece).as_tensor();
}

}  // namespace

void State::write_back(Bucket& bucket, const std::vector<bool>& unused) {
  Tensor sum = groups[bucket.partners] ? bucket.work.wait() : bucket.flat;
  if (options.average && bucket.partners > 0) sum = div(sum, double(groups[0]->size()));
  std::vector<Tensor> members;
  for (std::size_t index : bucket.members) members.push_back(parameters[index].tensor);
  std::vector<Tensor> parts = flat_parts(sum, shapes_of(members));
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!unused[bucket.members[i]])
      set_grad(members[i], laid_out_as_gradient(members[i], parts[i]));
}

void Replication::set_requires_gradient_sync(bool value) { state_->requires_sync = value; }
void Replication::prepare_for_backward() { state_->begin(State::Phase::expecting); }
std::size_t Replication::bucket_count() const { return state_->buckets.size(); }

Replication replicate(nn::Module& module, const ProcessGroup& group,
                      const ReplicateOptions& options, CallSite called) {
  CallSite site = labelled(called, "replicate");
  std::vector<Leaf> leaves;
  for (const auto& [name, parameter] : module.named_parameters())
    if (parameter.requires_grad())
      leaves.push_back({name, parameter, partners_of(parameter, options)});
  start_alike(tensors_by_partners(module, options), group, options, site);

  auto state = std::make_shared<State>(std::move(leaves), group, options, site);
  state->bucket_of.resize(state->parameters.size());
  for (std::size_t b = 0; b < state->buckets.size(); ++b)
    for (std::size_t index : state->buckets[b].members) state->bucket_of[index] = b;
  for (std::size_t i = 0; i < state->parameters.size(); ++i)
    register_accumulate_hook(state->parameters[i].tensor,
                             [weak = std::weak_ptr(state), i](Tensor&) {
                               if (auto alive = weak.lock()) alive->gradient_came(i);
                             });
  module.add_pre_hook([state](nn::Module&, nn::Tensors inputs) {
    state->begin();
    return inputs;
  });
  return Replication(state);
}

}  // namespace simmesh
