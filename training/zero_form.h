#pragma once

#include <functional>
#include <optional>
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
  // The ranks over which layers are split, if any (see with_tensor). They take the same rows.
  std::optional<ProcessGroup> tensor = {};
  // The ranks that have different experts, if any (see with_experts), and those that share this
  // rank's.
  std::optional<ProcessGroup> experts = {};
  std::optional<ProcessGroup> sharing = {};
};

// zero_form adds ZeRO over a group to a form. In exact arithmetic gradients are sums, and reported
// results have the bits of one device for float32 models.
//
// Split layers are trained piece by piece (see LocalPieces), and experts by an engine of their own
// over the ranks that share them; beside it gradients are sums in every arithmetic. The norm is one
// over all of the model. In stage 3 the engine of the experts is one of stage 2: a rank without
// rows for an expert doesn't call it, and so would not gather it. DeepSpeed refuses experts in
// stage 3.
//
// An expert that no token of a step chose has no gradient, as on one device. DeepSpeed's has zeros.
ParallelForm zero_form(const ZeroForm& zero, const ProcessGroup& group, ParallelForm given = {});

}  // namespace simmesh
