#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine/reports/run_progress.h"
#include "core/ops/reused_results.h"
#include "gate/explore/schedule_policy.h"
#include "gate/file.h"
#include "gate/run_options.h"

namespace simmesh {

// ExploreRequest bounds an exploration.
struct ExploreRequest {
  std::int64_t schedules = 1'000;
  // The number of the first of these schedules. If others came before, first_hash is the data hash
  // of number 0, which all must have.
  std::uint64_t first = 0;
  std::uint64_t first_hash = 0;
  // exhaustive runs one schedule of each class of equivalent schedules, and at most `schedules`.
  bool exhaustive = false;
  // The way in which schedules are chosen; and the step from which on they differ from the first
  // one, which is then the first seeded one.
  SchedulePolicyKind policy = SchedulePolicyKind::mixed;
  std::optional<std::uint64_t> reseed_at = {};
  // The exploration ends after the first run if that proves the result for all schedules, because
  // nothing in it depends on the order (Outcome::touches is empty).
  bool takes_certificate = true;
  // Runs share what they compute from the same bits (see ReusedResults). Without, each computes
  // everything. Changes no result.
  bool reuses_results = true;
  // Worlds that run side by side, each on a thread of its own. Changes no result.
  std::size_t jobs = 1;
  // An exhaustive exploration may make one of several shards, "2/8", and keep its state in a file,
  // from which it goes on; `merged` has the files of all shards. See ExploreOptions.
  // `program` tells whether a file is one of the same gate.
  std::string shard = {};
  std::uint64_t program = 0;
  std::string state_file = {};
  std::vector<std::string> merged = {};
  GoesOn goes_on = nullptr;
};

// GateExploration is the result of running a gate under many schedules.
struct GateExploration {
  std::string file;
  std::string title;
  std::uint64_t schedules = 0;                   // number of runs
  std::uint64_t distinct = 0;                    // number of different schedule hashes among them
  std::set<std::uint64_t> schedule_hashes = {};  // these; empty for an exhaustive exploration
  std::uint64_t data_hash = 0;                   // of the first run
  std::string certificate;      // the proof that one run stands for all; empty without one
  std::string escape;           // the chance that a bug escaped all runs, where it is known
  std::string failure;          // under the shortest failing schedule; empty if none fails
  std::string report;           // of the failing run, if a rank failed or a deadlock occurred
  std::vector<RankId> choices;  // all choices of the shortest failing schedule
  std::uint64_t turns = 0;      // the number of these choices that must differ from FIFO
  bool splits_steps = false;    // the choices are those of Schedule::replay("split:...")
  bool interrupted = false;     // by ExploreRequest::goes_on; the other members are then partial

  bool ok() const { return failure.empty(); }
  // schedule returns the choices as Schedule::replay reads them.
  std::string schedule() const {
    return (splits_steps ? "split:" : "") + choices_to_string(choices);
  }
};

// make_reused returns what the runs of one job of an exploration share; null if they share nothing.
// Shapes are computed fast enough.
std::shared_ptr<ReusedResults> make_reused(const GateFile& gate, const ExploreRequest& request);

// explore_gate runs a gate without its faults under many schedules, until a run fails: a rank
// fails, there is a deadlock, a tensor is left alive, or the data hash isn't that of the first run
// or of expect.hash. It then looks for the shortest failing schedule. Of several runs that fail,
// the one with the lowest number counts. A trace file gets the shortest failing run, or the first
// run.
GateExploration explore_gate(const GateFile& gate, const GateRunOptions& options,
                             const ExploreRequest& request);

// escape_text returns GateExploration::escape of an exploration whose runs all passed.
std::string escape_text(const GateFile& gate, const GateRunOptions& options,
                        const ExploreRequest& request);

// ExploreTextOptions are the options of the text of an exploration.
struct ExploreTextOptions {
  bool quiet = false;     // only the last line, "N schedules, N distinct, data hash H"
  std::string reproduce;  // the command line that reproduces a failure
};

// to_text returns an exploration as `simmesh explore` prints it.
std::string to_text(const GateExploration& found, const ExploreTextOptions& options);

// to_json returns the same content as one line of JSON.
std::string to_json(const GateExploration& found, const ExploreTextOptions& options);

}  // namespace simmesh
