#pragma once

#include <cstdint>
#include <string_view>

namespace simmesh::replay {

// CommKind is the operation of a communication node, whatever the spelling of its name. The forms
// "base" take one tensor where the others take a list, the coalesced ones lists of tensors.
enum class CommKind : std::uint8_t {
  unknown,
  all_reduce,
  all_reduce_coalesced,
  broadcast,
  reduce,
  all_gather,
  all_gather_base,
  all_gather_coalesced,
  reduce_scatter,
  reduce_scatter_base,
  reduce_scatter_coalesced,
  all_to_all,   // a list of tensors, or one that is cut evenly
  all_to_allv,  // one tensor with splits
  gather,
  scatter,
  send,
  recv,
  barrier,
  wait,
  init,
};

// comm_kind returns the kind of a recorded name, read as PyTorch's replay tool reads it: upper
// case, digits and signs don't count, so "allreduce", "all_reduce" and "AllReduce" are one. Any
// other name is unknown.
CommKind comm_kind(std::string_view recorded_name);

// takes_any_source returns true if a recorded name, read in the same way, is that of a receive from
// whichever rank sends first: "recvAnySource".
bool takes_any_source(std::string_view recorded_name);

// to_string returns the name that the replay tool uses: "all_gather_base".
std::string_view to_string(CommKind kind);

// has_data is true if tensors go to other ranks: not for wait, barrier, init and unknown ones.
bool has_data(CommKind kind);

// is_message is true for send and recv, which involve two ranks of their group.
bool is_message(CommKind kind);

}  // namespace simmesh::replay
