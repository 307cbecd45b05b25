#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "core/memory/caching_allocator.h"

namespace simmesh {

// VectorClock says how many operations of each stream happened before some point of a device's
// program: operations count from 1, and streams without an entry are at 0.
class VectorClock {
 public:
  std::uint64_t at(StreamIndex stream) const {
    return stream < counts_.size() ? counts_[stream] : 0;
  }
  void set(StreamIndex stream, std::uint64_t operations) {
    if (stream >= counts_.size()) counts_.resize(std::size_t(stream) + 1);
    counts_[stream] = operations;
  }
  // join makes everything that happened before the other point happen before this one.
  void join(const VectorClock& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
      counts_[i] = std::max(counts_[i], other.counts_[i]);
  }
  StreamIndex streams() const { return StreamIndex(counts_.size()); }

 private:
  boost::container::small_vector<std::uint64_t, 8> counts_;
};

}  // namespace simmesh
