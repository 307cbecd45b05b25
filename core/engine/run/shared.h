#pragma once

#include <string_view>
#include <utility>

#include "core/engine/run/run.h"

namespace simmesh {

// Shared is a value that ranks share outside any collective. Real ranks can't; it is for tests of
// what happens if something does, and for simulated services. Each use is a point of the schedule,
// and the explorer tries the uses in every order.
//
//   Shared<int> counter("counter", 0);
//   world.run([&](Rank&) { counter.use([](int& value) { ++value; }); });
template <class T>
class Shared {
 public:
  // Two Shared values of one run need different names.
  Shared(std::string_view name, T value) : value_(std::move(value)) {
    FoldHash hash(name.size());
    for (char letter : name) hash.fold(std::uint64_t(letter));
    object_ = hash.value();
  }

  // use calls f with the value, after the schedule has chosen, and returns its result. Blocks no
  // other rank.
  template <class F>
  decltype(auto) use(F&& f, CallSite site = CallSite::here()) {
    Rank& rank = this_rank();
    rank.run().touch(rank, object_, site);
    rank.run().touches().mark_sensitive(object_);
    return f(value_);
  }

 private:
  std::uint64_t object_;
  T value_;
};

}  // namespace simmesh
