#pragma once

#include "core/engine/fibers/stack_arena.h"
#include "gate/tables/keys.h"
#include "zero/fetch/coordinator.h"

// Declares the names that examples in internal headers use without declaring them.
namespace simmesh::examples {

extern StackArena arena;
extern zero::Coordinator coordinator;
extern GateTable table;

}  // namespace simmesh::examples
