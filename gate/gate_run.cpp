#include <fmt/format.h>

#include <simmesh/core/engine/random_stream.h>
#include <simmesh/gate/gate_run.h>
#include <simmesh/gate/scalar_value.h>

namespace simmesh {

namespace {

// Attention blocks with checkpointing nest deeper than the default stack.
constexpr std::size_t stack_bytes = 256 * 1024;

void keep_results(Rank& rank, const GateRunner::Request& request, const TrainingResult& result,
                  RankFindings& found) {
  std::vector<nn::NamedTensor> results = named_results(result);
  record_results(rank, results);
  for (const Tensor& loss : result.losses) found.losses.push_back(scalar_value(loss));
  if (request.expected) found.difference = first_difference(*request.expected, results);
  if (request.keep_record && rank.id() == 0) found.record = copy_of(results);
}

}  // namespace

GateRunner::GateRunner(const GateFile& gate, const GateRunOptions& options)
    : gate_(gate),
      options_(options),
      schedule_(Schedule::parse(options.schedule)),
      arithmetic_(Arithmetic::parse(options.arithmetic.value_or(gate.arithmetic))),
      task_(gate_task(gate)) {}

WorldOptions GateRunner::world_options(const Request& request) const {
  return {.ranks = std::size_t(gate_.ranks()),
          .seed = options_.seed,
          .schedule = request.schedule,
          .threads = std::size_t(options_.threads),
          .arithmetic = arithmetic_,
          .faults = request.faults,
          .stack_bytes = stack_bytes,
          .record_choices = request.record_choices,
          .program = "simmesh run " + gate_.file};
}

std::function<void(Rank&)> GateRunner::body(const Request& request,
                                            std::vector<RankFindings>& found) const {
  found.assign(std::size_t(gate_.ranks()), RankFindings());
  return [this, request, &found](Rank& rank) {
    RankFindings& own = found[rank.id()];
    own = RankFindings();
    own.operations.resize(std::size_t(gate_.train.steps));
    ParallelForm form;
    form.at_phase = [&](std::int64_t step, TrainPhase phase) {
      own.operations[std::size_t(step)][std::size_t(phase)] = rank.operations();
    };
    form.after_training = [&] {
      for (std::size_t op = 0; op < collective_op_count; ++op) own.calls[op] = rank.counters()[op];
    };
    TrainingResult result = train_on_mesh(gate_, task_, std::move(form));
    keep_results(rank, request, result, own);
  };
}

GateRun GateRunner::run(const Request& request) const {
  GateRun run;
  World world(world_options(request));
  run.outcome = world.run(body(request, run.ranks));
  return run;
}

GateRun GateRunner::run_single_device() const {
  WorldOptions options = world_options({});
  options.ranks = 1;
  options.threads = 1;
  GateRun run;
  run.ranks.resize(1);
  World world(options);
  run.outcome = world.run([&](Rank& rank) {
    keep_results(rank, {.keep_record = true}, train(task_.training), run.ranks[0]);
  });
  return run;
}

Schedule GateRunner::schedule_at(std::uint64_t i) const {
  if (i == 0) return schedule_;
  std::uint64_t seed = RandomStream(options_.seed, i).next();
  if (i % 2 == 1) return Schedule::seeded(seed);
  Schedule priorities = Schedule::pct({.depth = 3});
  // The World's seed stays: what ranks draw depends on it.
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
