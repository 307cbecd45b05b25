#pragma once

#include <cstdint>
#include <gsl/span>
#include <memory>
#include <string_view>
#include <vector>

#include "zero/fetch/event.h"
#include "zero/fetch/fetch_graph.h"
#include "zero/fetch/fetch_settings.h"
#include "zero/fetch/fetch_trace.h"
#include "zero/fetch/gathers_in_flight.h"
#include "zero/fetch/param_status.h"
#include "zero/fetch/release_rule.h"

namespace simmesh::zero {

// FetchSink does what a coordinator decides.
class FetchSink {
 public:
  virtual ~FetchSink() = default;

  // gather starts to gather parameters, ascending, of which either all or none have a secondary
  // shard. One handle stands for all of them.
  virtual void gather(gsl::span<const ParamId> params) = 0;
  // wait makes a gathered parameter usable by a module. The first wait for a member of a gather
  // completes it for all of them; each further member is waited for once, or released.
  virtual void wait(ParamId param) = 0;
  // release drops the whole of a parameter.
  virtual void release(ParamId param) = 0;

  // agree checks that all ranks have the same list: two broadcasts, of its length and of itself.
  // Raises a RuntimeError that says where they differ.
  virtual void agree(std::string_view what, gsl::span<const std::int64_t> values) = 0;

  // has_secondary is true if a parameter has a current secondary shard.
  virtual bool has_secondary(ParamId) const { return false; }
  // is_absent is true if a parameter's shard is in a file and nobody has started to read it. The
  // queue isn't followed beyond such a parameter.
  virtual bool is_absent(ParamId) const { return false; }
  // read_ahead may start to read the shards, where they are in files, of the parameters in the
  // queue after those that were prefetched.
  virtual void read_ahead(gsl::span<const FetchTrace::Need>) {}
};

// Coordinator decides when ZeRO stage 3 fetches, prefetches and releases parameters, as DeepSpeed's
// PartitionedParameterCoordinator does. It knows numbers and sizes and no tensors. docs/zero.md has
// its rules and its bounds on the elements that are available at a time.
//
//   coordinator.reset();                          // the root is about to run forward
//   coordinator.enter(1, zero::Pass::forward);    // module 1 fetches, waits and prefetches
//   coordinator.leave(1, zero::Pass::forward);    // and releases
//   coordinator.end_backward();                   // releases what was never left
//   coordinator.release_all();                    // a step begins
class Coordinator {
 public:
  Coordinator(FetchGraph graph, const FetchSettings& settings, FetchSink& sink);

  // reset begins an iteration: drops prefetches that nobody used, and outside a complete trace
  // makes ranks agree on the recorded one. A prefetch bucket that adapts doubles, up to
  // max_live_parameters, if in the last iteration a module fetched a parameter that the trace knew
  // and nobody had prefetched. Only sizes and the trace decide that, so all ranks decide alike.
  void reset();
  // enter compares a module with the trace and fetches the parameters that it needs. Raises a
  // RuntimeError where these aren't the ones in the trace ("tracing error").
  void enter(ModuleId module, Pass pass);
  void leave(ModuleId module, Pass pass);
  // abandon forgets a running forward that ended by an exception; nothing is released.
  void abandon(ModuleId module);
  // end_backward releases the parameters of modules that were entered backward and never left,
  // newest first.
  void end_backward();
  // release_all releases everything: an optimiser step begins.
  void release_all();
  // invalidate forgets the trace, for instance when the hooks of the modules changed.
  void invalidate();

  // register_external makes a module need a parameter of another module; a returned one came out of
  // a forward and is released at a step only. The caller gathers it where it isn't available, by
  // gathered_elsewhere. unregister_external undoes it.
  void register_external(ModuleId module, ParamId param, bool returned);
  void unregister_external(ModuleId module, ParamId param);

  // wait_for completes the gather of a parameter that is in flight, for a user that isn't a module.
  void wait_for(ParamId param);
  // gathered_elsewhere tells that a blocking gather made a parameter available, and
  // released_elsewhere that it was dropped after such a gather. Raise a RuntimeError for a wrong
  // status.
  void gathered_elsewhere(ParamId param);
  void released_elsewhere(ParamId param);

  const FetchGraph& graph() const { return graph_; }
  const FetchSettings& settings() const { return settings_; }
  TraceMode mode() const { return trace_.mode(); }
  const FetchTrace& trace() const { return trace_; }
  std::int64_t step() const { return step_; }
  // available counts the elements that are available or in flight, as max_live_parameters bounds
  // them.
  std::int64_t available() const { return available_; }
  std::int64_t queue_length() const { return std::int64_t(trace_.needs().size() - queue_head_); }
  ParamStatus status(ParamId param) const { return statuses_.of(param); }
  // in_backward returns the modules that were entered backward and not left, oldest first.
  const std::vector<ModuleId>& in_backward() const { return in_backward_; }
  // in_flight counts parameters that were gathered and not waited for by a module of their own.
  std::int64_t in_flight() const { return in_flight_.count(); }

 private:
  void drop_in_flight();
  void adapt_prefetch_bucket();
  void fetch(ModuleId module, Pass pass);
  void take_from_queue(ModuleId module);
  void prefetch();
  void gather(std::vector<ParamId> params, EventKind kind);
  void start(gsl::span<const ParamId> params);
  void wait(ParamId param);
  void release(ParamId param);
  void use_in_backward(ModuleId module);
  void leave_all(ModuleId module, Pass pass, gsl::span<const ParamId> given_up);
  bool was_asked_for(ParamId param) const { return asked_[std::size_t(param)] == asking_; }
  void ask_for(ParamId param) { asked_[std::size_t(param)] = asking_; }
  Event event(EventKind kind) const;

  FetchGraph graph_;
  FetchSettings settings_;
  FetchSink& sink_;
  bool is_observed_ = false;
  FetchTrace trace_;
  ReleaseRule rule_;
  ParamStatuses statuses_;
  std::int64_t step_ = 0;
  bool came_late_ = false;  // a parameter that the trace knew, in this iteration
  std::int64_t available_ = 0;
  std::size_t queue_head_ = 0;  // of the needs of the trace
  std::vector<std::int64_t> recent_;
  std::vector<std::uint64_t> asked_;  // marks of one use of the queue
  std::uint64_t asking_ = 0;
  GathersInFlight in_flight_;
  std::vector<ModuleId> in_backward_;
  std::vector<std::vector<ParamId>> recomputed_;  // frozen ones, by the module in backward
};

}  // namespace simmesh::zero
