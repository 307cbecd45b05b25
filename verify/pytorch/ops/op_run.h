#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/ranks/rank.h"
#include "sharding/dtensor/dispatched_op.h"
#include "verify/pytorch/ops/op_case.h"

namespace simmesh {

// SeenOp is a DispatchedOp of a call, kept.
struct SeenOp {
  std::string name;
  DispatchedOp::PlacementsOfTensors given, used;
  double redistribute_cost_us = 0;
  std::int64_t gathers_of_unwaited = 0;
  std::vector<Placements> outputs = {};
};

// OpRun is the record of one rank's run.
struct OpRun {
  enum class Stage : std::uint8_t { inputs, forward, backward, done };
  Stage stage = Stage::inputs;  // the last one that it began

  std::vector<ActualResult> outputs;
  std::vector<ActualResult> gradients;  // of each input that is asked for one
  CollectiveTally comm, comm_backward;  // as the recorder counted (see DispatchedOp)
  std::vector<SeenOp> forward;
  // The cost of bringing the inputs to the recorded placements; nothing if it can't be priced.
  std::optional<double> recorded_cost_us;
  // The same for whole tensors, where it is asked for.
  std::vector<ActualResult> whole_outputs, whole_gradients;

  double cost_us() const;
};

// OpEnding is the end of a case on all ranks: their runs, and the Error of the first that failed.
struct OpEnding {
  std::vector<OpRun> runs;
  std::optional<Error> error = std::nullopt;
};

// OpRunOptions choose the work beside the call.
struct OpRunOptions {
  bool has_gradients = false;
  bool computes_whole = false;  // makes the call once more, on whole tensors
  // Makes the call on the placements that PyTorch's operator ran on, instead of on the inputs'.
  bool follows_recorded = false;
};

// run_op makes the call of a case on a rank. All ranks of the mesh call it.
void run_op(const OpCase& in, const OpRunOptions& options, Rank& rank, OpRun& run);

}  // namespace simmesh
