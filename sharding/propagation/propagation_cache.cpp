#include "sharding/propagation/propagation_cache.h"

#include <algorithm>
#include <array>

#include "core/check/fold_hash.h"
#include "core/engine/ranks/local_state.h"
#include "core/engine/run/run.h"
#include "core/engine/world.h"

namespace simmesh {

namespace {

constexpr std::size_t world_calls_max = 1024;
constexpr std::size_t set_size = 4;
constexpr std::size_t set_count = 64;

struct Known {
  PropagationRequest request;
  std::shared_ptr<const Propagation> propagation;
};

// The cache that all ranks of a World share.
struct WorldPropagations {
  BoundedCache<Known> cache{world_calls_max};
};

// A rank's own cache, so that a repeated call touches nothing shared. A call has its place in one
// of the sets; the newest call of a set replaces the oldest.
struct RankPropagations {
  struct Set {
    std::array<std::unique_ptr<PropagatedCall>, set_size> calls;
    std::size_t oldest = 0;
  };
  std::array<Set, set_count> sets;
  PropagationCacheInfo info;
};

std::size_t mixed(std::size_t hash, std::size_t word) {
  return (hash ^ word) * 0x9e3779b97f4a7c15ull + (hash >> 29);
}

struct ValueHash {
  std::size_t operator()(const Dims& dims) const {
    std::size_t hash = dims.size();
    for (std::int64_t one : dims) hash = mixed(hash, std::size_t(one));
    return hash;
  }
  template <class T>
  std::size_t operator()(const T& value) const {
    return std::hash<T>()(value);
  }
};

std::size_t hash_of(const OpCall& call, DistributedInputs inputs) {
  std::size_t hash = reinterpret_cast<std::uintptr_t>(&call.op) + std::size_t(call.destination);
  for (const DTensor* input : inputs) hash = mixed(hash, input ? input->place_hash() : 1);
  for (const auto& [name, value] : call.attributes) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    hash = mixed(hash, integer ? std::size_t(*integer) : std::visit(ValueHash(), value));
  }
  return hash ^ (hash >> 32);
}

bool lie_alike(const std::optional<DTensor>& known, const DTensor* given) {
  return known ? given && known->lies_like(*given) : !given;
}

// Names are literals, and equal ones are usually one text.
bool is_same(const NamedAttribute& a, const NamedAttribute& b) {
  bool same_text = a.name.data() == b.name.data() && a.name.size() == b.name.size();
  if (!same_text && a.name != b.name) return false;
  const auto* integer = std::get_if<std::int64_t>(&a.value);
  const auto* other = std::get_if<std::int64_t>(&b.value);
  return integer && other ? *integer == *other : a.value == b.value;
}

bool answers(const PropagatedCall& known, const OpCall& call, DistributedInputs inputs,
             const DTensor* out, bool keeps_bits) {
  return known.op == &call.op && known.destination == call.destination &&
         known.keeps_bits == keeps_bits &&
         std::equal(known.inputs.begin(), known.inputs.end(), inputs.data(),
                    inputs.data() + inputs.size(), lie_alike) &&
         lie_alike(known.out, out) &&
         std::equal(known.attributes.begin(), known.attributes.end(), call.attributes.begin(),
                    call.attributes.end(), is_same);
}

PropagationRequest request_of(const OpCall& call, DistributedInputs inputs, const DTensor* out,
                              bool keeps_bits) {
  PropagationRequest request{.op = &call.op,
                             .attributes = call.attributes,
                             .destination = call.destination,
                             .keeps_bits = keeps_bits};
  for (const DTensor* input : inputs) {
    if (input) {
      request.inputs.push_back({input->shape(), input->dtype()});
      request.given.push_back(input->spec().sharding);
      request.mesh_shape = input->mesh().shape();
    } else {
      request.inputs.push_back({{}, DType::float32, false});
      request.given.push_back(std::nullopt);
    }
  }
  if (out) {
    request.out = out->spec().sharding;
    request.mesh_shape = out->mesh().shape();
  }
  return request;
}

std::shared_ptr<const Propagation> found_in_world(const PropagationRequest& request,
                                                  std::size_t hash) {
  Rank& rank = this_rank();
  rank.run().take_turn(rank);
  auto& cache = rank.world().state<WorldPropagations>().cache;
  if (auto known = cache.find(request, hash)) return known->propagation;
  auto propagation = std::make_shared<const Propagation>(propagate(request));
  cache.keep(std::make_shared<const Known>(Known{request, propagation}), hash);
  return propagation;
}

// The group of ranks is that of the first tensor.
std::shared_ptr<MeshGroups> groups_of(DistributedInputs inputs, const DTensor* out) {
  for (const DTensor* input : inputs)
    if (input) return input->spec().groups;
  return out->spec().groups;
}

bool is_partial(const std::optional<Sharding>& sharding) {
  return sharding && has_partial(sharding->placements);
}

std::unique_ptr<PropagatedCall> made(const OpCall& call, DistributedInputs inputs,
                                     const DTensor* out, bool keeps_bits, std::size_t hash) {
  auto result = std::make_unique<PropagatedCall>(PropagatedCall{
      .hash = hash,
      .op = &call.op,
      .attributes = call.attributes,
      .destination = call.destination,
      .keeps_bits = keeps_bits,
      .propagation = found_in_world(request_of(call, inputs, out, keeps_bits), hash)});
  for (const DTensor* input : inputs)
    result->inputs.push_back(input ? std::optional(input->with_local({})) : std::nullopt);
  if (out) result->out = out->with_local({});
  const Propagation& propagation = *result->propagation;
  result->has_partial_output =
      std::any_of(propagation.outputs.begin(), propagation.outputs.end(), is_partial);
  auto groups = groups_of(inputs, out);
  for (std::size_t i = 0; i < propagation.outputs.size(); ++i) {
    auto& output = result->outputs.emplace_back();
    if (!propagation.outputs[i]) continue;
    const TensorType& type = propagation.output_types[i];
    output.emplace(DTensorSpec{groups, *propagation.outputs[i], type.shape, type.dtype}, Tensor());
  }
  return result;
}

}  // namespace

PropagationCacheInfo propagation_cache_info() { return local_state<RankPropagations>().info; }

PropagationCacheInfo world_propagation_cache_info() {
  Rank& rank = this_rank();
  rank.run().take_turn(rank);
  const auto& cache = rank.world().state<WorldPropagations>().cache;
  return {cache.hits(), cache.misses(), cache.size()};
}

PropagatedCall& propagated(const OpCall& call, DistributedInputs inputs, const DTensor* out,
                           bool keeps_bits) {
  RankPropagations& known = this_rank().state<RankPropagations>();
  std::size_t hash = hash_of(call, inputs);
  RankPropagations::Set& set = known.sets[hash % set_count];
  for (const auto& one : set.calls) {
    if (!one) break;
    if (one->hash != hash || !answers(*one, call, inputs, out, keeps_bits)) continue;
    ++known.info.hits;
    return *one;
  }
  ++known.info.misses;
  std::unique_ptr<PropagatedCall> result = made(call, inputs, out, keeps_bits, hash);
  std::unique_ptr<PropagatedCall>& place = set.calls[set.oldest++ % set_size];
  if (!place) ++known.info.size;
  place = std::move(result);
  return *place;
}

}  // namespace simmesh
