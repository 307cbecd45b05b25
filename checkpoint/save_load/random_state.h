#pragma once

#include "checkpoint/catalog/state_dict.h"
#include "collectives/process_group.h"

namespace simmesh::checkpoint {

// add_random_state adds the default generator of every rank of a group under the name "random". A
// loaded run draws the numbers that the saved one would have drawn. Equal generators, which
// DTensors need, are stored once, and any number of ranks can load them. Different ones are stored
// as a list in the order of the group; a load on another number of ranks raises a ValueError. All
// members call it, and it makes one all-gather.
//
//   checkpoint::StateDict state;
//   checkpoint::add_random_state(state);
void add_random_state(StateDict& state, const ProcessGroup& group = ProcessGroup::world());

}  // namespace simmesh::checkpoint
