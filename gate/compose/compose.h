#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/reports/run_progress.h"
#include "core/shards/job_shard.h"
#include "core/shards/shard_results.h"
#include "gate/compose/layouts.h"
#include "gate/run_options.h"
#include "training/run_record.h"

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

// LayoutResult is what came of one layout.
struct LayoutResult {
  std::string name;  // "fsdp=2+tensor=2:sequence"
  std::vector<std::string> forms;
  std::int64_t ranks = 0;
  std::string mesh;             // "fsdp 2, tensor 2"
  std::string entry;            // of expect.same_as in a gate file: "{ mesh = [2, 2], ... }"
  std::size_t tensors = 0;      // that each rank compared with one device
  std::int64_t peak_bytes = 0;  // of the rank that held the most
  std::string failure;          // of a run that didn't end; empty for one that did
  // The first result that differs, on the first rank where one does.
  std::optional<Difference> difference;
  std::int64_t rank = 0;
  // The first op of the forward pass, or of the backward pass the first gradient, that differs: the
  // cause, or next to it. Of layouts that no smaller one explains.
  std::string first;
  // The smallest failing layout whose forms this one has, too; its own name if there is none.
  std::string smallest;

  bool passed() const { return failure.empty() && !difference; }
};

// Composition is the result of compose. It depends on the file and the request only.
struct Composition {
  std::string file;
  std::string title;
  std::vector<double> losses;  // of one device
  std::size_t tensors = 0;     // of its results
  std::vector<LayoutResult> layouts;
  std::vector<Misfit> misfits;
  bool interrupted = false;
  std::string flags;  // of the command, which decide how a layout runs: " --inject fsdp=2"

  // reproduce returns a command line that repeats the smallest failing layout; empty if all passed.
  std::string reproduce() const;
  std::int64_t passed() const;
  std::int64_t failed() const { return std::int64_t(layouts.size()) - passed(); }
};

// name_smallest names for each failing layout the smallest one with no other forms. Layouts are in
// the order of their sizes.
void name_smallest(std::vector<LayoutResult>& layouts);

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
