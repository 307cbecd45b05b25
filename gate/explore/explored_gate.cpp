#include "gate/explore/explored_gate.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "core/check/append_text.h"
#include "core/check/hash_text.h"
#include "core/check/shell_word.h"
#include "core/shards/job_result.h"
#include "gate/checked_run.h"

namespace simmesh {

namespace {

std::string replay_line(const GateFile& gate, const GateRunOptions& options,
                        const std::string& choices) {
  RunWords words = options;
  words.schedule = "choices:" + choices;
  return "simmesh run " + shell_word(gate.file) + flags(words);
}

std::string faults_line(const GateFile& gate, const GateRunOptions& options,
                        const std::vector<Fault::Kind>& kinds, std::uint64_t runs) {
  std::string names;
  for (Fault::Kind kind : kinds)
    append_text(names, "{}{}", names.empty() ? "" : ",", to_string(kind));
  return fmt::format("simmesh explore {} --faults {} --schedules {}{}", shell_word(gate.file),
                     names, runs, flags(options));
}

std::uint64_t hash_under(const JsonValue& value, std::string_view key) {
  std::string text;
  read_member(value, key, text);
  std::optional<std::uint64_t> hash = hash_from_text(text);
  if (!hash) refuse_member(value, key);
  return *hash;
}

JsonValue json_of_hashes(const std::set<std::uint64_t>& hashes) {
  JsonValue::List list;
  for (std::uint64_t hash : hashes) list.push_back(hash_text(hash));
  return list;
}

std::set<std::uint64_t> hashes_of(const JsonValue& value) {
  JsonValue::List list;
  read_member(value, "schedules", list);
  std::set<std::uint64_t> hashes;
  for (const JsonValue& each : list)
    hashes.insert(hash_under(JsonValue::object({{"hash", each}}), "hash"));
  return hashes;
}

JsonValue json_of_counts(const std::vector<FaultSwarm::Count>& counts) {
  JsonValue::List list;
  for (const FaultSwarm::Count& count : counts)
    list.push_back(JsonValue::object({{"kind", count.kind},
                                      {"reported", count.reported},
                                      {"without_effect", count.without_effect}}));
  return list;
}

std::vector<FaultSwarm::Count> counts_of(const JsonValue& value) {
  JsonValue::List list;
  read_member(value, "counts", list);
  std::vector<FaultSwarm::Count> counts;
  for (const JsonValue& each : list) {
    FaultSwarm::Count& count = counts.emplace_back();
    read_member(each, "kind", count.kind);
    read_member(each, "reported", count.reported);
    read_member(each, "without_effect", count.without_effect);
  }
  return counts;
}

// Adds the runs with faults that come next.
void append_swarm(FaultSwarm& all, FaultSwarm next) {
  next.runs += all.runs;
  for (const FaultSwarm::Count& count : all.counts) {
    auto found =
        std::find_if(next.counts.begin(), next.counts.end(),
                     [&](const FaultSwarm::Count& other) { return other.kind == count.kind; });
    if (found == next.counts.end()) found = next.counts.insert(found, {count.kind});
    found->reported += count.reported;
    found->without_effect += count.without_effect;
  }
  all = std::move(next);
}

void append_seen(GateExploration& all, GateExploration next) {
  if (next.data_hash == 0) next.data_hash = all.data_hash;
  next.schedules += all.schedules;
  next.schedule_hashes.merge(all.schedule_hashes);
  next.distinct = next.schedule_hashes.size();
  all = std::move(next);
}

}  // namespace

ExploredGate ExploredGate::without_runs() const {
  ExploredGate end = *this;
  end.seen.schedules = end.seen.distinct = end.swarm.runs = 0;
  end.seen.schedule_hashes.clear();
  end.swarm.counts.clear();
  return end;
}

void ExploredGate::append(const ExploredGate& next) {
  reproduce = next.reproduce;
  append_swarm(swarm, next.swarm);
  append_seen(seen, next.seen);
}

ExploredGate explore_runs(const GateFile& gate, const GateRunOptions& options,
                          const ExploreRequest& request, const std::vector<Fault::Kind>& kinds) {
  ExploredGate found{.has_faults = !kinds.empty()};
  if (!found.has_faults) {
    found.seen = explore_gate(gate, options, request);
    if (!found.seen.choices.empty())
      found.reproduce = replay_line(gate, options, found.seen.schedule());
    return found;
  }
  found.swarm = run_fault_swarm(gate, options, request, kinds);
  if (!found.swarm.ok())
    found.reproduce = faults_line(gate, options, kinds, request.first + found.swarm.runs);
  return found;
}

JsonValue to_json(const ExploredGate& found) {
  JsonValue value = JsonValue::object({{"faults", found.has_faults},
                                       {"runs", found.runs()},
                                       {"data_hash", hash_text(found.data_hash())},
                                       {"failure", found.failure()},
                                       {"report", found.report()},
                                       {"reproduce", found.reproduce}});
  if (found.has_faults) {
    value.set("counts", json_of_counts(found.swarm.counts));
    return value;
  }
  value.set("schedules", json_of_hashes(found.seen.schedule_hashes));
  value.set("certificate", found.seen.certificate);
  value.set("choices", choices_to_string(found.seen.choices));
  value.set("turns", found.seen.turns);
  value.set("splits_steps", found.seen.splits_steps);
  return value;
}

ExploredGate explored_gate_from(const JsonValue& value) {
  ExploredGate found;
  read_member(value, "faults", found.has_faults);
  read_member(value, "reproduce", found.reproduce);
  FaultSwarm& swarm = found.swarm;
  GateExploration& seen = found.seen;
  bool has_faults = found.has_faults;
  read_member(value, "runs", has_faults ? swarm.runs : seen.schedules);
  read_member(value, "failure", has_faults ? swarm.failure : seen.failure);
  read_member(value, "report", has_faults ? swarm.report : seen.report);
  (has_faults ? swarm.data_hash : seen.data_hash) = hash_under(value, "data_hash");
  if (has_faults) {
    swarm.counts = counts_of(value);
    return found;
  }
  seen.schedule_hashes = hashes_of(value);
  seen.distinct = seen.schedule_hashes.size();
  read_member(value, "certificate", seen.certificate);
  std::string choices;
  read_member(value, "choices", choices);
  if (!choices.empty()) seen.choices = choices_from_string(choices);
  read_member(value, "turns", seen.turns);
  read_member(value, "splits_steps", seen.splits_steps);
  return found;
}

}  // namespace simmesh
