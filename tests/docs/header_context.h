#pragma once

#include "core/engine/fibers/stack_arena.h"
#include "core/engine/run/deadlines.h"
#include "core/engine/seats/picks.h"
#include "gate/tables/keys.h"
#include "zero/fetch/coordinator.h"

// Declares the names that examples in internal headers use without declaring them.
namespace simmesh::examples {

extern StackArena arena;
extern Picks picks;
extern Deadlines deadlines;
extern zero::Coordinator coordinator;
extern GateTable table;

}  // namespace simmesh::examples
