#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "core/check/call_site.h"

namespace simmesh {

// SharedObject is a Shared value as the schedule knows it: its existence, and its uses.
class SharedObject {
 public:
  // Two objects of one run need different names.
  explicit SharedObject(std::string_view name);

  // touch lets the schedule choose, and records that the rank that runs uses the object.
  void touch(const CallSite& site) const;

 private:
  std::uint64_t number_;
};

// Shared is a value that ranks share outside any collective. Real ranks can't share one. It is for
// tests of programs that do, and for simulated services. Each use is a point of the schedule, and
// the explorer tries the uses in every order.
//
//   Shared<int> counter("counter", 0);
//   world.run([&](Rank&) { counter.use([](int& value) { ++value; }); });
template <class T>
class Shared {
 public:
  // Two Shared values of one run need different names.
  Shared(std::string_view name, T value) : object_(name), value_(std::move(value)) {}

  // use calls f with the value, after the schedule has chosen, and returns its result. Blocks no
  // other rank. Raises a RuntimeError outside World::run.
  template <class F>
  decltype(auto) use(F&& f, CallSite site = CallSite::here()) {
    object_.touch(site);
    return f(value_);
  }

 private:
  SharedObject object_;
  T value_;
};

}  // namespace simmesh
