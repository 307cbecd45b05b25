#pragma once

#include <memory>

#include "core/ops/call.h"
#include "sharding/dtensor/dtensor.h"
#include "sharding/propagation/propagation.h"
#include "sharding/redistribute/bounded_cache.h"

namespace simmesh {

// PropagationCacheInfo counts how often the cache answered ops on distributed tensors.
struct PropagationCacheInfo {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t size = 0;

  bool operator==(const PropagationCacheInfo&) const = default;
};

// propagation_cache_info counts this rank's calls: hits of its own cache, and misses, which went to
// the World's cache.
PropagationCacheInfo propagation_cache_info();

// world_propagation_cache_info counts the calls of all ranks of the World that went to the World's
// cache. It keeps at most 1,024 answers and drops the least recently used.
PropagationCacheInfo world_propagation_cache_info();

// PropagatedCall is a call that a rank has made before, with its result.
struct PropagatedCall {
  std::size_t hash = 0;
  const Op* op = nullptr;
  Attributes attributes;
  Destination destination = Destination::fresh;
  bool keeps_bits = false;
  std::vector<std::optional<DTensor>> inputs;  // any tensors of these specs, without elements
  std::optional<DTensor> out;
  std::shared_ptr<const Propagation> propagation;
  bool has_partial_output = false;
  std::vector<std::optional<DTensor>> outputs;  // the specs of the outputs
  std::optional<Attributes> local_attributes;   // once they are known
  KnownTypes local_types;                       // of the pieces that the op runs on
};

// DistributedInputs are the inputs of a call, null for those that are absent.
using DistributedInputs = gsl::span<const DTensor* const>;

// propagated returns the result of propagate for a call on distributed tensors; out may be null. It
// is valid until the rank's next call.
PropagatedCall& propagated(const OpCall& call, DistributedInputs inputs, const DTensor* out,
                           bool keeps_bits);

}  // namespace simmesh
