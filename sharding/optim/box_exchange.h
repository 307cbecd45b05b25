#pragma once

#include <map>
#include <set>
#include <vector>

#include "collectives/process_group.h"
#include "core/check/call_site.h"
#include "core/tensor/tensor.h"

namespace simmesh {

// BoxExchange moves parts of tensors between the members of a group, all in one all-to-all for each
// dtype. All members name the same moves in the same order; a tensor counts on the rank that sends
// or receives it, and may be undefined elsewhere.
//
//   BoxExchange exchange(group);
//   exchange.move({.from = 0, .to = 2}, DType::float32, {.source = first, .target = second});
//   exchange.run();
class BoxExchange {
 public:
  explicit BoxExchange(const ProcessGroup& group) : group_(group) {}

  // Route is a pair of members, by their index in the group.
  struct Route {
    std::int64_t from;
    std::int64_t to;
  };
  // Ends are a tensor, and the one of the same shape into which run writes its elements. Either may
  // be a view.
  struct Ends {
    Tensor source = {};
    Tensor target = {};
  };
  void move(Route route, DType dtype, const Ends& ends);

  // run carries out all moves and forgets them.
  void run(CallSite site = CallSite::here());

 private:
  using OfMembers = std::map<std::int64_t, std::vector<Tensor>>;

  ProcessGroup group_;
  std::set<DType> dtypes_;
  std::map<DType, OfMembers> sent_, received_;
};

}  // namespace simmesh
