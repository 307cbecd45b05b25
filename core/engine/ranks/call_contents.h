#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "core/engine/ranks/local_state.h"

namespace simmesh {

// CallContents is a scope in which its rank's collectives tell what they carry, beside dtypes and
// shapes: names of parameters, in their order, joined by ", ". Where two members of a group put
// different contents into one collective, the one that comes second gets a RuntimeError that names
// both. A call outside such a scope agrees with any other. An inner scope counts instead of the
// outer one.
//
//   CallContents contents("layer1.weight, layer1.bias");
//   Tensor sum = all_reduce(zeros({6}, DType::float32), ReduceOp::sum, ProcessGroup::world());
class CallContents {
 public:
  explicit CallContents(std::string names) : names_(std::move(names)), outer_(open()) {
    are_used.store(true, std::memory_order_relaxed);
    open() = names_;
  }
  ~CallContents() { open() = outer_; }
  CallContents(const CallContents&) = delete;
  CallContents& operator=(const CallContents&) = delete;

  // current returns the names of the rank's innermost scope; empty outside any.
  static std::string_view current() {
    if (!are_used.load(std::memory_order_relaxed)) [[likely]]
      return {};
    return open();
  }

 private:
  struct Open {
    std::string_view names;
  };
  static std::string_view& open() { return local_state<Open>().names; }

  // Programs without such scopes don't pay for a look at the rank's state.
  static constinit inline std::atomic<bool> are_used = false;

  std::string names_;
  std::string_view outer_;
};

// difference_of_contents returns the first names in which two contents differ, "nothing more" for a
// missing one; both are empty where the contents agree or one of them is unknown.
struct ContentsDifference {
  std::string_view first, second;
};
ContentsDifference difference_of_contents(std::string_view first, std::string_view second);

}  // namespace simmesh
