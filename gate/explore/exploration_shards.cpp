#include "gate/explore/exploration_shards.h"

#include <algorithm>
#include <optional>

#include "core/shards/job_result.h"

namespace simmesh {

namespace {

// Shards get about the same number of runs, while each block makes some runs for itself.
constexpr std::uint64_t blocks_max = 64;
constexpr std::uint64_t runs_of_block_max = 100;

class ShareExplorer {
 public:
  ShareExplorer(const std::vector<GateFile>& gates, const GateRunOptions& options,
                const GatesRequest& request, const ExplorationShare& share)
      : gates_(gates),
        options_(options),
        request_(request),
        share_(share),
        schedules_(std::uint64_t(request.each.schedules)),
        runs_of_block_(std::clamp((schedules_ + blocks_max - 1) / blocks_max, std::uint64_t(1),
                                  runs_of_block_max)),
        blocks_((schedules_ + runs_of_block_ - 1) / runs_of_block_),
        begun_(gates.size()) {}

  bool all() {
    ShardResults& keeps = share_.keeps;
    keeps.jobs = gates_.size() * blocks_;
    keeps.about = about();
    for (std::uint64_t job; (job = next_job()) < keeps.jobs;) {
      ExploredGate found = block(job);
      if (found.interrupted()) return false;
      keeps.results.emplace(job, to_json(found));
    }
    return true;
  }

 private:
  JsonValue about() const {
    JsonValue::List files, titles;
    for (const GateFile& gate : gates_) {
      files.emplace_back(gate.file);
      titles.emplace_back(gate.title);
    }
    std::string escape;
    if (gates_.size() == 1 && request_.faults.empty())
      escape = escape_text(gates_[0], options_, request_.each);
    return JsonValue::object({{"files", std::move(files)},
                              {"titles", std::move(titles)},
                              {"faults", !request_.faults.empty()},
                              {"blocks", blocks_},
                              {"escape", std::move(escape)}});
  }

  std::uint64_t next_job() {
    const ShardResults& keeps = share_.keeps;
    if (share_.next_job) return share_.next_job(keeps.jobs);
    std::uint64_t own = done_++;
    return own < keeps.shard.jobs_of(keeps.jobs) ? keeps.shard.job(own) : keeps.jobs;
  }

  ExploredGate explore(const GateFile& gate, std::uint64_t first, std::uint64_t count,
                       std::uint64_t first_hash) {
    ExploreRequest request = request_.each;
    request.first = first;
    request.first_hash = first_hash;
    request.schedules = std::int64_t(count);
    if (request_.each.goes_on)
      request.goes_on = [&](const RunProgress& progress) {
        return request_.each.goes_on(
            {progress.what, runs_ + progress.done, schedules_ * gates_.size(), failed_});
      };
    ExploredGate found = explore_runs(gate, options_, request, request_.faults);
    runs_ += found.runs();
    if (!found.failure().empty()) ++failed_;
    return found;
  }

  // The runs of a gate go on after `begun`, which has the gate's first run.
  ExploredGate block(std::uint64_t job) {
    const GateFile& gate = gates_[job / blocks_];
    std::optional<ExploredGate>& begun = begun_[job / blocks_];
    std::uint64_t first = job % blocks_ * runs_of_block_;
    std::uint64_t count = std::min(runs_of_block_, schedules_ - first);
    if (first > 0 && !begun && request_.faults.empty()) {
      begun = explore(gate, 0, 1, 0);
      if (begun->interrupted()) return *begun;
    }
    if (begun && begun->is_over()) return begun->without_runs();
    ExploredGate found = explore(gate, first, count, begun ? begun->data_hash() : 0);
    if (!begun || found.is_over()) begun = found;
    return found;
  }

  const std::vector<GateFile>& gates_;
  const GateRunOptions& options_;
  const GatesRequest& request_;
  const ExplorationShare& share_;
  const std::uint64_t schedules_;  // of each gate
  const std::uint64_t runs_of_block_;
  const std::uint64_t blocks_;  // of each gate
  // The first runs known of each gate, or those that ended it.
  std::vector<std::optional<ExploredGate>> begun_;
  std::uint64_t done_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace

bool explore_share(const std::vector<GateFile>& gates, const GateRunOptions& options,
                   const GatesRequest& request, const ExplorationShare& share) {
  return ShareExplorer(gates, options, request, share).all();
}

std::vector<ExploredGate> explored_gates(const ShardResults& found) {
  std::vector<std::string> files = texts_of_member(found.about, "files");
  std::vector<std::string> titles = texts_of_member(found.about, "titles");
  std::uint64_t blocks = 0;
  bool has_faults = false;
  read_member(found.about, "blocks", blocks);
  read_member(found.about, "faults", has_faults);
  if (files.size() != titles.size()) refuse_member(found.about, "titles");
  if (blocks == 0 || files.size() * blocks != found.jobs) refuse_member(found.about, "blocks");
  std::vector<ExploredGate> gates(files.size(), {.has_faults = has_faults});
  for (const auto& [job, result] : found.results) {
    ExploredGate& gate = gates[job / blocks];
    if (!gate.is_over()) gate.append(explored_gate_from(result));
  }
  for (std::size_t i = 0; i < gates.size(); ++i) {
    gates[i].seen.file = gates[i].swarm.file = files[i];
    gates[i].seen.title = gates[i].swarm.title = titles[i];
    // The chance holds for all runs together.
    if (found.results.size() == found.jobs && !gates[i].is_over())
      read_member(found.about, "escape", gates[i].seen.escape);
  }
  return gates;
}

GatesExploration exploration_of(const std::vector<ExploredGate>& gates) {
  GatesExploration found;
  for (const ExploredGate& gate : gates) {
    found.gates.emplace_back(GatesExploration::Gate{.file = gate.seen.file}).append(gate);
    found.has_faults |= gate.has_faults;
    found.interrupted |= gate.interrupted();
  }
  return found;
}

}  // namespace simmesh
