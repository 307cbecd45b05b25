#pragma once

#include <memory>
#include <optional>

#include "core/autograd/backward_span.h"
#include "core/engine/ranks/annotation.h"
#include "core/engine/ranks/observer_scope.h"
#include "core/ops/op_span.h"
#include "core/tensor/launch.h"
#include "replay/record/comm_recorder.h"
#include "replay/record/recorded_rank.h"
#include "replay/record/trace_builder.h"

namespace simmesh::replay {

// RankRecorder records what its rank does, from its making to finish.
//
// Ops are nodes, with the ops that they call below them. A call on distributed tensors is an
// annotation, with an empty op_schema, above its ops and communications, because those are what the
// rank runs; attributes "input_placements" and "output_placements" have its placements.
// Communications are nodes made by CommRecorder. Backward passes are on a thread of their own: a
// node of the tape is a node of scope 1 above the ops and hooks that it runs, tied to its forward
// op by seq_id and fw_parent. Annotations are nodes, "ProfilerStep#N" among them.
//
// Watch::Pause leaves out a part. It changes nothing: no data, no schedule, no charge of the rank's
// ledger.
class RankRecorder {
 public:
  explicit RankRecorder(Rank& rank);
  RankRecorder(const RankRecorder&) = delete;
  RankRecorder& operator=(const RankRecorder&) = delete;

  // finish ends the recording and returns it.
  RecordedRank finish();

 private:
  void see(const OpSpanEvent& event);
  void see(const BackwardSpanEvent& event);
  void see(const AnnotationEvent& event);
  void see(const TensorLaunch& kernel);
  void begin(const OpCall& call);
  void end(const OpCall& call, gsl::span<const Tensor> results);
  void begin(const Node& node);
  void set_arguments(const OpCall& call, TraceNode& node);
  void set_attributes(const OpCall& call, gsl::span<const Tensor> results, TraceNode& node);
  void tie_to_backward(gsl::span<const Tensor> results, std::uint32_t index);
  TraceThread thread() const {
    return backward_passes_ > 0 ? TraceThread::backward : TraceThread::main;
  }

  RecordedRank recorded_;
  TraceBuilder builder_;
  CommRecorder comms_;
  std::vector<std::uint32_t> calls_;  // the ops that have begun and not ended
  int operators_ = 0;                 // of those, the ones that aren't distributed
  int backward_passes_ = 0;
  // By the number of a node of the tape: the node of its forward op in this trace.
  std::unordered_map<std::uint64_t, std::uint32_t> forward_;

  // Last, so that nobody is called while the other members are being made or destroyed.
  struct Scopes;
  std::shared_ptr<Scopes> scopes_;
};

}  // namespace simmesh::replay
