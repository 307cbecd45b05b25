#include "replay/report/report_job.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/counted.h"
#include "core/check/error.h"
#include "core/engine/ordered_jobs.h"
#include "core/engine/schedules/random_stream.h"
#include "replay/analysis/check_timelines.h"
#include "replay/analysis/join_trace.h"
#include "replay/job/missing_ranks.h"
#include "replay/report/all_to_all_matrix.h"
#include "replay/report/job_checks.h"
#include "replay/run/operator_work.h"
#include "replay/run/serial_oracle.h"
#include "replay/run/simulate.h"
#include "replay/validate/validate_job.h"

namespace simmesh::replay {

namespace {

// JobReporter makes the report of one job, part by part.
class JobReporter {
 public:
  JobReporter(TraceJob job, std::optional<JobTimeline> timeline, const JobReportOptions& options)
      : job_(std::move(job)), timeline_(std::move(timeline)), options_(options) {}

  JobReport report() {
    if (!job_.ranks.empty() || !job_.findings.empty()) {
      report_.findings = validate(job_);
      describe_traces();
      report_.checks = finding_checks(report_);
      if (worst(report_.findings) != "error") replay();
    }
    if (timeline_) analyse(std::move(*timeline_), false);
    return std::move(report_);
  }

 private:
  void check(std::string name, bool has_passed, std::string text) {
    report_.checks.push_back({std::move(name), has_passed, std::move(text)});
  }

  void describe_traces() {
    for (const RankTrace& rank : job_.ranks) {
      ReportedTrace traced{.rank = rank.rank, .file = rank.file, .summary = {}, .memory = {}};
      // The findings report a broken trace.
      try {
        traced.summary = summarize(rank.trace);
        traced.device = device_of(rank.trace);
        MemoryPlanOptions memory{.device = traced.device};
        if (options_.program.steps.size() == 1) memory.step = options_.program.steps[0];
        traced.memory = memory_plan(rank.trace, memory);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::index_error) throw;
      }
      report_.traces.push_back(std::move(traced));
    }
  }

  void replay() {
    ReplayProgram program;
    try {
      report_.made_up = fill_missing_ranks(job_);
      Findings unresolved;
      JobGroups groups = resolve_groups(job_, unresolved);
      program = make_program(job_, groups, options_.program);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::index_error) throw;
      return check("program", false, std::string(error.message()));
    }
    report_.findings.insert(report_.findings.end(), program.warnings.begin(),
                            program.warnings.end());
    JobMeetings meetings = meetings_of(program);
    report_.all_to_alls = all_to_all_matrices(program, meetings);
    if (options_.replays) run(program, meetings);
    JobCosts costs = costs_of(program, meetings);
    if (!timeline_) simulate_times(program, meetings, costs);
    for (const NamedWhatIf& asked : options_.what_if)
      report_.what_if.push_back(
          {asked.name, what_if(program, meetings, costs, topology(), change_of(asked))});
  }

  Schedule schedule_at(std::uint64_t index) const {
    if (index == 0) return options_.run.world.schedule;
    std::uint64_t seed = RandomStream(options_.run.world.seed, index).next();
    return Schedule::seeded(seed);
  }

  // Each schedule is a world of its own.
  std::vector<JobReplay> run_schedules(const ReplayProgram& program) const {
    std::vector<JobReplay> replays;
    auto run_one = [&](std::uint64_t i) {
      ReplayJobOptions options = options_.run;
      options.world.schedule = schedule_at(i);
      if (i > 0) options.world.trace_file.clear();
      JobReplay replayed = replay_job(program, options);
      if (i > 0) replayed.outputs.clear();
      return replayed;
    };
    run_ordered<JobReplay>(
        {.count = std::uint64_t(options_.schedules), .threads = std::size_t(options_.jobs)},
        [&] { return run_one; },
        [&](std::uint64_t, JobReplay replayed) {
          bool goes_on = replayed.outcome.ok();
          replays.push_back(std::move(replayed));
          return goes_on;
        });
    return replays;
  }

  void run(const ReplayProgram& program, const JobMeetings& meetings) {
    std::vector<JobReplay> replays = run_schedules(program);
    if (replays.empty()) return;  // it was interrupted
    if (!replays.back().outcome.ok()) {
      report_.failure = simmesh::report(replays.back().outcome);
      return check("replay", false, report_.failure.substr(0, report_.failure.find('\n')));
    }
    ReportedRun run = describe(program, replays[0].outcome);
    run.schedules = std::int64_t(replays.size());
    check("replay", true,
          fmt::format("{} on {}", counted(std::int64_t(run.communications), "communication"),
                      counted(std::int64_t(run.ranks), "rank")));
    compare(program, meetings, replays[0].outputs, run);
    std::size_t others = 0;
    for (const JobReplay& replayed : replays) others += replayed.outcome.data_hash != run.data_hash;
    if (run.schedules > 1)
      check("schedules", others == 0,
            others == 0
                ? fmt::format("{} schedules, one data hash", run.schedules)
                : fmt::format("expected one data hash under {} schedules, {} differ from the first",
                              run.schedules, others));
    report_.run = run;
  }

  static ReportedRun describe(const ReplayProgram& program, const Outcome& outcome) {
    ReportedRun run{.ranks = program.ranks.size(),
                    .shapes_only = outcome.shapes_only,
                    .data_hash = outcome.data_hash,
                    .schedule_hash = outcome.schedule_hash,
                    .peak_bytes = outcome.peak_bytes};
    for (const RankProgram& rank : program.ranks) {
      run.communications += rank.communications;
      run.operators += rank.operators;
      run.dangling_waits += rank.dangling_waits;
      run.never_waited_for += rank.never_waited_for;
      run.left_out += rank.left_out;
    }
    return run;
  }

  void compare(const ReplayProgram& program, const JobMeetings& meetings,
               const std::vector<std::vector<CommOutput>>& outputs, ReportedRun& run) {
    if (run.shapes_only) return;
    auto expected = serial_oracle(program, meetings,
                                  {.payload = options_.run.run.payload,
                                   .arithmetic = options_.run.world.arithmetic,
                                   .keeps_outputs = options_.run.run.keeps_outputs});
    auto found = differences(program, expected, outputs, &run.compared);
    check("oracle", found.empty(),
          found.empty()
              ? fmt::format("{} outputs equal a serial computation bit for bit", run.compared)
              : fmt::format("{} outputs differ from a serial computation; first {}", found.size(),
                            found.front()));
  }

  JobCosts costs_of(const ReplayProgram& program, const JobMeetings& meetings) {
    if (!timeline_) return modelled_costs(program, meetings, device());
    try {
      join_trace(*timeline_, job_, std::int64_t(program.ranks.size()));
      JobCosts costs = recorded_costs(program, meetings, *timeline_);
      check("timelines", true, "each communication of the traces is in the timelines");
      // Fitting needs two collectives, which a job may lack.
      if (meetings.collectives.size() >= 2)
        report_.links = fit_links(program, meetings, *timeline_);
      return costs;
    } catch (const Error& error) {
      check("timelines", false, std::string(error.message()));
      return modelled_costs(program, meetings, device());
    }
  }

  DeviceModel device() const { return options_.run.world.device.value_or(DeviceModel{}); }
  Topology topology() const { return report_.links ? report_.links->topology : device().topology; }

  WhatIf change_of(const NamedWhatIf& asked) const {
    WhatIf change = asked.change;
    if (asked.bandwidth_factor == 1 && asked.latency_factor == 1) return change;
    Topology links = change.topology.value_or(topology());
    links.bandwidth_intra_gb_s *= asked.bandwidth_factor;
    for (double* latency : {&links.latency_intra_us, &links.latency_inter_us, &links.base_us})
      *latency *= asked.latency_factor;
    change.topology = links;
    return change;
  }

  void simulate_times(const ReplayProgram& program, const JobMeetings& meetings,
                      const JobCosts& costs) {
    SimulatedJob simulated = simulate(program, meetings, costs);
    if (simulated.is_complete()) analyse(std::move(simulated.timeline), true);
  }

  void check_recorded(const ReportedTimes& times) {
    TimelineChecks checks = check_timelines(times.timeline, times.collectives);
    for (JobCheck& each : timeline_checks(times.timeline, checks))
      report_.checks.push_back(std::move(each));
    report_.findings.insert(report_.findings.end(), times.timeline.findings.begin(),
                            times.timeline.findings.end());
    report_.findings.insert(report_.findings.end(), checks.findings.begin(), checks.findings.end());
  }

  void analyse(JobTimeline timeline, bool is_simulated) {
    ReportedTimes times{.is_simulated = is_simulated, .timeline = std::move(timeline)};
    times.collectives = job_collectives(times.timeline);
    times.skew = skew_of(times.timeline, times.collectives);
    if (!is_simulated) check_recorded(times);
    times.bandwidths = bandwidth_of(times.timeline, times.collectives);
    times.table = comm_table(times.timeline, times.collectives);
    for (const RankTimeline& rank : times.timeline.ranks) {
      times.busy.push_back(busy_of(rank));
      times.has_device.push_back(has_device(rank));
      times.overtaken.push_back(overtaken_comms(rank));
    }
    times.reordered = reordered_collectives(times.timeline, times.collectives);
    times.steps = step_times(times.timeline);
    // Nobody knows what a host without a device does between its communications.
    if (std::find(times.has_device.begin(), times.has_device.end(), true) != times.has_device.end())
      times.path = critical_path(times.timeline, times.collectives);
    report_.times = std::move(times);
  }

  TraceJob job_;
  std::optional<JobTimeline> timeline_;
  const JobReportOptions& options_;
  JobReport report_;
};

}  // namespace

JobReport report_job(TraceJob job, std::optional<JobTimeline> timeline,
                     const JobReportOptions& options) {
  return JobReporter(std::move(job), std::move(timeline), options).report();
}

}  // namespace simmesh::replay
