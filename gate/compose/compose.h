#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/engine/reports/run_progress.h"
#include "core/shards/job_shard.h"
#include "core/shards/shard_results.h"
#include "gate/compose/composition.h"
#include "gate/run_options.h"

namespace simmesh {

// InjectedFault multiplies the gradients of every layout that has some forms of parallelism: a
// mistake in a scale, which compose must find.
struct InjectedFault {
  std::vector<std::string> forms;
  double factor = 2.0;
};

// parse_injected_fault reads "expert+tensor=2". Raises a ValueError for another text, and for a
// factor that isn't above 0.
InjectedFault parse_injected_fault(const std::string& text);

// ComposeRequest says which layouts are run, and how.
struct ComposeRequest {
  RanksRange ranks = {};
  // Only layouts that have one of these forms, if any are named, and none of those.
  std::vector<std::string> only = {}, without = {};
  std::string layout = {};  // only the layout of this name, with any number of ranks; empty for all
  std::int64_t sample = 0;  // only this number of them, spread evenly over their order; 0 for all
  std::vector<InjectedFault> faults = {};
  std::size_t jobs = 1;
  // The layouts of one of several shards, or those whose numbers a function returns until it
  // returns the number of all.
  JobShard shard = {};
  std::function<std::uint64_t(std::uint64_t count)> next_job = nullptr;
  ShardResults* keeps = nullptr;  // gets what united_composition needs
  GoesOn goes_on = nullptr;
};

// check_forms raises a ValueError for a form in `only` or `without` that layouts don't have.
void check_forms(const ComposeRequest& request);

// read_compose_model reads a gate file for its model, its data and how it is trained. Its mesh, its
// forms of parallelism and its checks don't count; only activation_checkpointing does. Arithmetic
// is exact unless the file has that table. Raises as read_gate does, and a BadGate for shapes only.
GateFile read_compose_model(const std::string& path);
GateFile compose_model_from_text(std::string_view text, const std::string& file);

// layouts_asked_for returns the layouts that a request names. Raises a ValueError for none.
ComposeLayouts layouts_asked_for(const GateFile& gate, const ComposeRequest& request);

// compose trains the model once on one device, and then in every layout that fits some numbers of
// ranks: losses, norms, gradients, parameters and the state of the optimiser must have the bits of
// the one device on every rank. Raises as layouts_asked_for does, and a BadGate for a model that
// doesn't run on one device.
Composition compose(const GateFile& gate, const GateRunOptions& options,
                    const ComposeRequest& request);

}  // namespace simmesh
