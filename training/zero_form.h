#pragma once

#include <functional>
#include <string>

#include "collectives/process_group.h"
#include "training/training.h"
#include "zero/config/config.h"
#include "zero/engine/memory_use.h"

namespace simmesh {

// AtZeroMemory is called with the memory that an engine holds: after initialisation and after each
// forward, backward and step; `when` names the moment: "step 0 forward".
using AtZeroMemory = std::function<void(const std::string& when, const zero::MemoryUse& memory)>;

// ZeroForm is how a training run uses ZeRO: the configuration of the engine, without what the task
// sets itself (accumulation and clipping).
struct ZeroForm {
  zero::Config config;
  AtZeroMemory at_memory = {};
};

// zero_form adds ZeRO over a group to a form. In exact arithmetic gradients are sums, and reported
// results have the bits of one device for float32 models.
ParallelForm zero_form(const ZeroForm& zero, const ProcessGroup& group, ParallelForm given = {});

}  // namespace simmesh
