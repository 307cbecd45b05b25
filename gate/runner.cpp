#include "gate/runner.h"

#include <algorithm>
#include <fmt/format.h>

#include "checkpoint/save_load/load.h"
#include "checkpoint/store/memory_store.h"
#include "collectives/comm_debug_mode.h"
#include "core/check/bits_hash.h"
#include "core/engine/ranks/watch.h"
#include "core/engine/reports/run_observer.h"
#include "core/engine/reports/shortage.h"
#include "core/engine/run/known.h"
#include "core/engine/schedules/random_stream.h"
#include "core/engine/spread/message_bytes.h"
#include "core/engine/spread/world_spread.h"
#include "core/tensor/scalar_value.h"
#include "fsdp/state/event_fields.h"
#include "gate/folding.h"
#include "replay/chakra/write_chakra.h"
#include "replay/record/record_run.h"
#include "replay/write/write_execution_trace.h"
#include "sharding/redistribute/plan_cache.h"

namespace simmesh {

namespace {

// Returns the stack of a fiber: attention blocks with checkpointing need more than the default of
// the largest worlds.
std::size_t stack_bytes(std::int64_t ranks) { return ranks > 65536 ? 256 * 1024 : 0; }

void keep_results(Rank& rank, const GateRunner::Request& request, const TrainingResult& result,
                  RankFindings& found) {
  std::vector<nn::NamedTensor> results = named_results(result);
  record_results(rank, results);
  for (const Tensor& loss : result.losses) found.losses.push_back(scalar_value(loss));
  for (const RunRecord* expected : request.expected)
    found.differences.push_back(first_difference(*expected, results));
  if (request.keep_record && rank.id() == request.recorded_rank) found.record = copy_of(results);
}

// Keeps the peaks of the rank's memory, which its owner knows.
void keep_peaks(Rank& rank, RankFindings& found) {
  std::string peaks = known_text("peaks of memory", [&] {
    MessageWriter writer;
    for (std::size_t i = 0; i < memory_category_count; ++i)
      writer.put(rank.ledger().of(MemoryCategory(i)).peak);
    return message_text(writer.take());
  });
  MessageReader reader(message_bytes(peaks));
  for (std::int64_t& peak : found.memory_peaks) peak = reader.get<std::int64_t>();
}

// Observation counts the gathers of one rank, and keeps its events.
class Observation {
 public:
  Observation(const GateEvents& asked, Rank& rank, const GateRunner::Request& request,
              RankFindings& found)
      : asked_(asked),
        found_(found),
        is_asked_((request.keeps_events || !asked.list.empty()) &&
                  std::int64_t(rank.id()) == asked.rank),
        has_details_(request.has_details) {}

  void begin_step(std::int64_t step) {
    if (has_details_ && step != step_) found_.event_hashes.push_back(0);
    step_ = step;
  }
  void set_model(nn::Module& model) { model_ = &model; }

  void see(const fsdp::Event& event) {
    found_.gathers.see(event);
    bool is_kept = is_asked_ && step_ == asked_.step;
    if (!model_ || step_ < 0 || !(is_kept || has_details_)) return;
    std::string text = fsdp::to_string(fsdp::fields_of(event, *model_));
    if (has_details_) fold(text);
    if (is_kept) found_.events.push_back(std::move(text));
  }

 private:
  void fold(const std::string& text) {
    FoldHash hash(found_.event_hashes.back());
    hash.fold(bits_hash(gsl::as_bytes(gsl::span<const char>(text))));
    found_.event_hashes.back() = hash.value();
  }

  const GateEvents& asked_;
  RankFindings& found_;
  bool is_asked_;
  bool has_details_;
  nn::Module* model_ = nullptr;
  std::int64_t step_ = -1;
};

// TrainingCalls counts a rank's calls of each collective, except those that only serve reports.
class TrainingCalls {
 public:
  TrainingCalls(Rank& rank, bool counts_bytes, RankFindings& found)
      : rank_(rank), found_(found), counts_bytes_(counts_bytes) {
    end_report();
  }

  void begin_report() {
    if (!pause_) pause_.emplace();
    for (std::size_t op = 0; op < collective_op_count; ++op)
      found_.calls[op] += rank_.counters()[op] - last_[op];
    if (!mode_) return;
    for (std::size_t op = 0; op < collective_op_count; ++op)
      found_.bytes[op] += mode_->of(CollectiveOp(op)).bytes;
    for (const auto& [kind, calls] : mode_->get_reduction_counts())
      found_.reductions[kind] += calls;
    mode_.reset();
  }
  void end_report() {
    pause_.reset();
    last_ = rank_.counters();
    if (counts_bytes_) mode_.emplace();
  }

 private:
  Rank& rank_;
  RankFindings& found_;
  bool counts_bytes_;
  std::optional<CommDebugMode> mode_;
  std::optional<Watch::Pause> pause_;  // keeps calls for reports out of records
  std::array<std::uint32_t, Rank::counter_count> last_{};
};

// Returns the plans of all redistributions in a world.
std::map<std::string, std::string> plans_of(World& world) {
  std::map<std::string, std::string> plans;
  for (const auto& planned : world.state<PlanCache>().plans())
    plans[to_string(planned->request)] = to_string(planned->plan, planned->request.mesh_shape);
  return plans;
}

// Runs a world, and writes the execution traces of its ranks.
Outcome record(World& world, const std::function<void(Rank&)>& body, const TraceFolders& folders) {
  replay::Recording recording = replay::record_run(world, body);
  raise_shortage(recording.outcome);
  if (!WorldSpread::writes_files()) return std::move(recording.outcome);
  if (!folders.execution_traces.empty()) replay::write_job(recording.job, folders.execution_traces);
  if (!folders.chakra.empty()) replay::write_chakra_job(recording.job, folders.chakra);
  return std::move(recording.outcome);
}

}  // namespace

GateRunner::GateRunner(const GateFile& gate, const GateRunOptions& options, TraceFolders folders)
    : gate_(gate),
      options_(options),
      folders_(std::move(folders)),
      schedule_(Schedule::parse(options.schedule)),
      arithmetic_(Arithmetic::parse(options.arithmetic.value_or(gate.arithmetic))),
      task_(gate_task(gate)) {}

WorldOptions GateRunner::world_options(const Request& request) const {
  GateFolding folding;
  if (gate_.world.fold) folding = folding_of(gate_);
  return {.ranks = std::size_t(gate_.ranks()),
          .deputies = request.save ? request.save->deputies() : 0,
          .seed = options_.seed,
          .schedule = request.schedule,
          .threads = std::size_t(options_.threads),
          .arithmetic = arithmetic_,
          .release = options_.release.value_or(gate_.world.release),
          .faults = request.faults,
          .device = request.on_devices ? gate_.device : std::nullopt,
          .stack_bytes = stack_bytes(gate_.ranks()),
          .timeout_seconds = options_.timeout_seconds,
          .record_choices = request.record_choices,
          .trace_file = request.is_traced ? options_.trace_file : "",
          .shapes_only = gate_.world.shapes_only,
          .fold = gate_.world.fold,
          .folded_onto = std::move(folding.ranks),
          .folded_alike = std::move(folding.alike),
          .program = "simmesh run " + gate_.file};
}

std::function<void(Rank&)> GateRunner::body(const Request& request,
                                            std::vector<RankFindings>& found) const {
  GateFolding folding;
  if (gate_.world.fold) folding = folding_of(gate_);
  found.assign(gate_.world.fold ? folding.ranks.size() : std::size_t(gate_.ranks()),
               RankFindings());
  return [this, request, folding, &found](Rank& rank) {
    RankFindings& own = found[gate_.world.fold ? folding.index_of(rank.id()) : rank.id()];
    own = RankFindings();
    own.rank = rank.id();
    own.operations.resize(std::size_t(gate_.train.steps));
    std::optional<ReusedResults::Scope> reuses;
    if (request.reused) reuses.emplace(*request.reused);
    std::optional<RunRecorder::OfRank> recorded;
    if (request.recorder)
      recorded.emplace(*request.recorder, std::size_t(&own - found.data()), rank);
    Observation observation(gate_.expect.events, rank, request, own);
    std::optional<fsdp::ObserverScope> observer;
    if (request.observes || request.has_details)
      observer.emplace([&](const fsdp::Event& event) { observation.see(event); });
    std::optional<zero::ObserverScope> zero_observer;
    bool has_schedule = request.observes && rank.id() == 0 && gate_.parallel.has_schedule();
    if (has_schedule)
      zero_observer.emplace([&](const zero::Event& event) {
        if (own.schedule) own.schedule->see(event);
      });
    ParallelForm form;
    form.prepare = [&](nn::Module& model) {
      observation.set_model(model);
      if (request.at_model) request.at_model(rank, model);
      if (request.recorder && rank.id() == 0) request.recorder->see_model(model);
      if (has_schedule) own.schedule.emplace(model);
    };
    form.at_phase = [&](std::int64_t step, TrainPhase phase) {
      if (phase == TrainPhase::forward) observation.begin_step(step);
      own.operations[std::size_t(step)][std::size_t(phase)] = rank.operations();
    };
    TrainingCalls calls(rank, request.has_details || request.observes, own);
    bool reports = !request.on_devices && !gate_.world.shapes_only;
    form.reports = reports;
    form.at_report = [&](bool begins) { begins ? calls.begin_report() : calls.end_report(); };
    form.after_training = [&] { calls.begin_report(); };
    AtZeroMemory at_memory;
    if (request.observes)
      at_memory = [&own](const std::string& when, const zero::MemoryUse& memory) {
        own.memory.emplace_back(when, memory);
      };
    MovingAverages averages;
    if (request.ema) averages = with_averages(form, *request.ema);
    if (request.save)
      form = with_save(std::move(form), *request.save, task_.training.micro_batches, averages);
    if (request.load_from)
      form.load = [&, averages](checkpoint::StateDict& state) {
        state.add(saved_step_name, std::int64_t(0));
        if (averages) averages->add_to_load(state);
        own.loads_locally =
            checkpoint::load(state, *request.load_from).way == checkpoint::LoadWay::local;
        return state.number(saved_step_name);
      };
    form.gradient_factor = request.gradient_factor;
    TrainingResult result = train_on_mesh(gate_, task_, std::move(form), at_memory);
    if (reports) keep_results(rank, request, result, own);
    keep_peaks(rank, own);
  };
}

GateRun GateRunner::run(const Request& request) const {
  GateRun run;
  World world(world_options(request));
  std::optional<RunObserver> observer;
  if (request.recorder)
    observer.emplace([&](const RunRecords& records) { request.recorder->see(records); });
  if (request.is_traced && folders_.are_given())
    run.outcome = record(world, body(request, run.ranks), folders_);
  else
    run.outcome = world.run(body(request, run.ranks));
  raise_shortage(run.outcome);
  if (request.has_details) run.plans = plans_of(world);
  if (request.recorder) request.recorder->see_plans(world.state<PlanCache>());
  return run;
}

GateRun GateRunner::run_as(const GateSameAs& other) const {
  GateFile gate = gate_.run_as(other);
  return GateRunner(gate, options_).run({.keep_record = true});
}

GateRunner::ResumedRun GateRunner::resumed(const GateCheckpoint& checkpoint,
                                           const RunRecord& expected) const {
  auto place = [] {
    return checkpoint::Location{std::make_shared<checkpoint::MemoryStore>(), "state"};
  };
  checkpoint::Location location = place();
  const std::optional<checkpoint::EmaOptions>& ema = checkpoint.contents.ema;
  GateFile before = gate_.run_as({.layout = gate_.mesh, .parallel = gate_.parallel});
  GateSave save = {location, checkpoint.save_at, checkpoint.mode, checkpoint.contents};
  GateFile whole = before;
  before.train.steps = save.steps();
  bool saver_averages = checkpoint.mode == SaveMode::zero_cost;
  GateRun saved =
      GateRunner(before, options_).run({.save = save, .ema = saver_averages ? std::nullopt : ema});
  if (!saved.outcome.ok()) return {std::move(saved), location};
  GateFile after = gate_.run_as(checkpoint.resume_on);
  Request resume{.expected = {&expected}, .load_from = location};
  if (!ema) return {GateRunner(after, options_).run(resume), location};
  GateSave end = {place(), gate_.train.steps};
  GateRun never_stopped = GateRunner(whole, options_).run({.save = end, .ema = ema});
  if (!never_stopped.outcome.ok()) return {std::move(never_stopped), location};
  resume.save = GateSave{place(), gate_.train.steps};
  resume.ema = ema;
  ResumedRun resumed{GateRunner(after, options_).run(resume), location};
  if (!resumed.run.outcome.ok()) return resumed;
  for (checkpoint::Difference& one : checkpoint::diff(end.location, resume.save->location))
    if (one.name.starts_with("ema.")) resumed.averages.push_back(std::move(one));
  return resumed;
}

Schedule GateRunner::schedule_at(std::uint64_t i) const {
  if (i == 0) return schedule_;
  std::uint64_t seed = RandomStream(options_.seed, i).next();
  if (i % 2 == 1) return Schedule::seeded(seed);
  Schedule priorities = Schedule::pct({.depth = 3});
  // Only the schedule gets this seed. The random streams of the ranks depend on the World's.
  return Schedule::custom(fmt::format("pct:3 with seed {}", seed),
                          [priorities, seed](std::size_t ranks, std::uint64_t) {
                            return priorities.make_policy(ranks, seed);
                          });
}

GateFault GateRunner::resolved(const GateFault& fault, const GateRun& without_faults) const {
  GateFault result = fault;
  if (!fault.is_at_phase()) return result;
  const RankFindings& found = without_faults.ranks[fault.rank];
  std::uint64_t before = found.operations[std::size_t(fault.step)][std::size_t(fault.phase)];
  bool is_there = false;
  for (const auto& step : found.operations)
    for (std::uint64_t operations : step) is_there |= operations > before;
  if (!is_there)
    throw BadGate(fault.place,
                  fmt::format("expected a fault at an operation, got a {}: the rank has no "
                              "collective or wait from there on",
                              describe(fault)));
  result.number = before + 1;
  return result;
}

}  // namespace simmesh
