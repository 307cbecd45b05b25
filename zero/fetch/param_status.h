#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/tensor/shape.h"
#include "zero/fetch/fetch_graph.h"

namespace simmesh::zero {

using simmesh::to_string;

// ParamStatus is whether a rank has all of a parameter, in DeepSpeed's words: NOT_AVAILABLE,
// INFLIGHT while a gather runs that wasn't waited for, AVAILABLE.
enum class ParamStatus : std::uint8_t { not_available, inflight, available };
std::string_view to_string(ParamStatus status);

// Pass is the direction in which a module is entered and left.
enum class Pass : std::uint8_t { forward, backward };
std::string_view to_string(Pass pass);

// ParamStatuses keeps the status of each parameter and the modules that use it, and refuses every
// change that isn't allowed. A parameter that a module uses is not released.
class ParamStatuses {
 public:
  explicit ParamStatuses(std::size_t count) : entries_(count) {}

  ParamStatus of(ParamId id) const { return entries_[std::size_t(id)].status; }

  // begin_gather makes a NOT_AVAILABLE parameter INFLIGHT, finish_gather an INFLIGHT one AVAILABLE,
  // release an AVAILABLE one NOT_AVAILABLE. Raise a RuntimeError for another status, and release
  // for a parameter in use; releasing an INFLIGHT one is an AssertionError.
  void begin_gather(ParamId id);
  void finish_gather(ParamId id);
  void release(ParamId id);

  // use notes that a module uses a parameter in a pass, unuse that it no longer does. A module
  // counts once for each pass.
  void use(ParamId id, ModuleId module, Pass pass);
  void unuse(ParamId id, ModuleId module, Pass pass);
  void unuse(ParamId id, ModuleId module);  // in either pass
  bool is_used(ParamId id) const { return !entries_[std::size_t(id)].users.empty(); }
  void forget_users(ParamId id) { entries_[std::size_t(id)].users.clear(); }

 private:
  struct User {
    ModuleId module;
    std::uint8_t passes;  // a bit for each
  };
  struct Entry {
    ParamStatus status = ParamStatus::not_available;
    boost::container::small_vector<User, 3> users;
  };

  void remove(ParamId id, ModuleId module, std::uint8_t passes);

  std::vector<Entry> entries_;
};

}  // namespace simmesh::zero
