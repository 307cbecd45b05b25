#pragma once

#include <cstdint>
#include <gsl/span>
#include <vector>

#include "zero/fetch/fetch_graph.h"

namespace simmesh::zero {

// GathersInFlight are the parameters that were gathered and not waited for yet. One gather has
// several members, each of which is waited for once; the first wait completes it for all of them.
class GathersInFlight {
 public:
  explicit GathersInFlight(std::size_t params) : gather_of_(params, -1), started_(params) {}

  // start adds a gather of parameters that aren't in flight.
  void start(gsl::span<const ParamId> params);

  bool contains(ParamId param) const { return gather_of_[std::size_t(param)] >= 0; }
  std::int64_t count() const { return count_; }
  // by_start returns the parameters in flight in the order in which they were started.
  std::vector<ParamId> by_start() const;

  // Waited is a wait for a member: the number of its gather, and all members that it completes,
  // none if an earlier wait did. The span is valid until the next start.
  struct Waited {
    std::uint64_t gather;
    gsl::span<const ParamId> completed;
  };
  // wait takes out a parameter that is in flight.
  Waited wait(ParamId param);

 private:
  struct Gather {
    std::vector<ParamId> members;
    std::size_t waiting = 0;
    bool is_complete = false;
    std::uint64_t number = 0;
  };

  std::vector<Gather> gathers_;
  std::vector<std::int32_t> free_;  // slots to use again
  std::vector<std::int32_t> gather_of_;
  std::vector<std::uint64_t> started_;  // by parameter: when it was started, of all
  std::uint64_t next_start_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace simmesh::zero
