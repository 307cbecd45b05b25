#pragma once

#include "checkpoint/catalog/state_dict.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// add_random_state adds the default generator of every rank of a group under the name "random", so
// that a loaded run draws the numbers that the saved one would have drawn. Equal generators, which
// distributed tensors need, are stored once, and any number of ranks can load them. Different ones
// are stored as a list in the order of the group; loading that raises a ValueError on another
// number of ranks. All members call it: one all-gather.
//
//   checkpoint::StateDict state;
//   checkpoint::add_random_state(state);
void add_random_state(StateDict& state, const ProcessGroup& group = ProcessGroup::world());

}  // namespace simmesh::checkpoint
