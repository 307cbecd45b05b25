#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/catalog/location.h"
#include "checkpoint/tools/diff.h"
#include "collectives/collective_call.h"
#include "core/engine/world.h"
#include "core/ops/reused_results.h"
#include "gate/file.h"
#include "gate/records/run_recorder.h"
#include "gate/run_options.h"
#include "gate/task.h"
#include "gate/trace_folders.h"
#include "training/gather_tally.h"
#include "training/run_record.h"
#include "zero/stage3/schedule_record.h"

namespace simmesh {

// RankFindings is the report of one rank of a run.
struct RankFindings {
  RankId rank = 0;
  // Calls of each collective, except those for the printed losses.
  std::array<std::uint32_t, collective_op_count> calls{};
  // The bytes of the rank's operands in these calls; of an observed run.
  std::array<std::uint64_t, collective_op_count> bytes{};
  std::array<std::int64_t, memory_category_count> memory_peaks{};  // bytes, by category
  bool loads_locally = false;                                      // it resumed from its own files
  std::vector<double> losses;
  std::vector<std::optional<Difference>> differences;  // from each expected record
  // The number of operations that the rank had begun when it reached each phase, by step and phase.
  std::vector<std::array<std::uint64_t, 3>> operations;
  std::optional<RunRecord> record;
  std::vector<std::pair<std::string, zero::MemoryUse>> memory;  // of an observed run with ZeRO
  GatherTally gathers;                                          // of an observed run
  // The schedule of the last iteration, on rank 0 of an observed run with ZeRO stage 3.
  std::optional<zero::ScheduleRecord> schedule;
  std::vector<std::string> events;  // of the rank and step that expect.events names
  // The calls of each kind of reduction, as CommDebugMode names them, and a hash over the events of
  // each step; only of a run with details.
  std::map<std::string, std::uint64_t> reductions;
  std::vector<std::uint64_t> event_hashes;
};

// GateRun is the result of one run of a gate.
struct GateRun {
  Outcome outcome;
  std::vector<RankFindings> ranks;  // those that ran, in order
  // The plan of each redistribution, in the words of to_string; only of a run with details.
  std::map<std::string, std::string> plans = {};
};

// GateRunner runs one gate any number of times.
class GateRunner {
 public:
  // The gate must outlive this. The folders get the execution traces of the runs that are traced.
  GateRunner(const GateFile& gate, const GateRunOptions& options, TraceFolders folders = {});

  struct Request {
    Schedule schedule = Schedule::fifo();
    std::vector<Fault> faults = {};
    // Records that each rank compares its results with; must outlive the call.
    std::vector<const RunRecord*> expected = {};
    bool keep_record = false;   // of one rank
    bool observes = false;      // keeps gathers, and events of sharding that the gate expects
    bool keeps_events = false;  // of an observed run, also without a list of those expected
    bool has_details = false;   // keeps the details of findings and run
    // Ranks have the gate's simulated device and only train; there are no results.
    bool on_devices = false;
    bool record_choices = false;
    // The run writes the trace file of the options, and execution traces, if these are asked for.
    bool is_traced = false;
    // Called on each rank with the model that it trains, before the first step.
    std::function<void(Rank& rank, nn::Module& model)> at_model = {};
    // Multiplies all gradients: a fault, unless it is 1.
    double gradient_factor = 1.0;
    // Has the results that runs of this gate share; must outlive the call. Null: each run computes
    // everything.
    ReusedResults* reused = nullptr;
    // The rank whose record is kept.
    RankId recorded_rank = 0;
    // Keeps what a report shows of the run; must outlive the call. Null: nothing is kept.
    RunRecorder* recorder = nullptr;
    // Saves the state of the run, or resumes from a saved one.
    std::optional<GateSave> save = {};
    // Averages that the run keeps, and continues if it resumes.
    std::optional<checkpoint::EmaOptions> ema = {};
    std::optional<checkpoint::Location> load_from = {};
  };

  // world_options returns the options of the world of the mesh.
  WorldOptions world_options(const Request& request) const;
  // body returns the function that each rank runs. Its findings go into a list with one entry per
  // rank that runs.
  std::function<void(Rank&)> body(const Request& request, std::vector<RankFindings>& found) const;

  GateRun run(const Request& request) const;
  // run_as trains on another mesh, in another form of parallelism, and keeps the record.
  GateRun run_as(const GateSameAs& other) const;

  // ResumedRun is a run that went on from a checkpoint, the checkpoint, and the averages that
  // differ from those of a run that never stopped.
  struct ResumedRun {
    GateRun run;
    checkpoint::Location saved;
    std::vector<checkpoint::Difference> averages = {};
  };
  // resumed trains the steps before the checkpoint, and saves it in memory, in some modes beside
  // one more step. Then it resumes as the table says, and its ranks compare their results with the
  // record. If a part fails, it returns that run.
  ResumedRun resumed(const GateCheckpoint& checkpoint, const RunRecord& expected) const;

  // schedule_at returns schedule number i of the gate. Number 0 is that of the options. The others
  // are alternately seeded and priority schedules, with seeds drawn from the seed of the options.
  Schedule schedule_at(std::uint64_t i) const;

  // resolved returns the fault with the number of its operation. Raises a BadGate if the rank has
  // no operation from the fault's phase on.
  GateFault resolved(const GateFault& fault, const GateRun& without_faults) const;

 private:
  const GateFile& gate_;
  GateRunOptions options_;
  TraceFolders folders_;
  Schedule schedule_;
  Arithmetic arithmetic_;
  GateTask task_;
};

}  // namespace simmesh
