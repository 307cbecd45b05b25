#include "gate/explore/explore_gates.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "core/check/append_text.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/hash_text.h"
#include "core/check/json_value.h"
#include "core/check/read_file.h"
#include "core/check/write_file.h"
#include "gate/checked_run.h"

namespace simmesh {

namespace {

// The runs of a gate in one turn.
constexpr std::uint64_t runs_of_turn = 100;

using Gate = GatesExploration::Gate;

[[noreturn]] void refuse(const std::string& file, std::string_view why) {
  raise(ErrorKind::value_error, "gate/explore",
        "expected the state of an exploration of these gates under these options in {}, got {}",
        file, why);
}

std::uint64_t number_in(const JsonValue& gate, std::string_view key, const std::string& file) {
  const JsonValue* found = gate.find(key);
  const auto* number = found ? found->get<std::int64_t>() : nullptr;
  if (!number || *number < 0) refuse(file, "a gate without numbers");
  return std::uint64_t(*number);
}

std::string text_in(const JsonValue& value, std::string_view key, const std::string& file) {
  const JsonValue* found = value.find(key);
  const auto* text = found ? found->get<std::string>() : nullptr;
  if (!text) refuse(file, "a gate without texts");
  return *text;
}

JsonValue json_of(const Gate& gate) {
  return JsonValue::object({{"file", gate.file},
                            {"runs", gate.runs},
                            {"data_hash", hash_text(gate.data_hash)},
                            {"certain", gate.is_certain},
                            {"reported", gate.reported},
                            {"without_effect", gate.without_effect},
                            {"failure", gate.failure},
                            {"report", gate.report},
                            {"reproduce", gate.reproduce}});
}

JsonValue::List json_of(const std::vector<Gate>& gates) {
  JsonValue::List list;
  for (const Gate& gate : gates) list.push_back(json_of(gate));
  return list;
}

Gate gate_from(const JsonValue& json, const std::string& file) {
  Gate gate{.file = text_in(json, "file", file),
            .runs = number_in(json, "runs", file),
            .reported = number_in(json, "reported", file),
            .without_effect = number_in(json, "without_effect", file),
            .failure = text_in(json, "failure", file),
            .report = text_in(json, "report", file),
            .reproduce = text_in(json, "reproduce", file)};
  std::optional<std::uint64_t> hash = hash_from_text(text_in(json, "data_hash", file));
  if (!hash) refuse(file, "a gate without a hash");
  gate.data_hash = *hash;
  const JsonValue* certain = json.find("certain");
  gate.is_certain = certain && certain->get<bool>() && *certain->get<bool>();
  return gate;
}

class GatesExplorer {
 public:
  GatesExplorer(const std::vector<GateFile>& gates, const GateRunOptions& options,
                const GatesRequest& request)
      : gates_(gates), options_(options), request_(request) {
    found_.has_faults = !request.faults.empty();
    for (const GateFile& gate : gates) found_.gates.push_back({.file = gate.file});
    read_state();
  }

  GatesExploration all() {
    for (bool has_turn = true; has_turn && !found_.interrupted;) {
      has_turn = false;
      for (std::size_t i = 0; i < gates_.size() && !found_.interrupted; ++i) {
        if (is_done(found_.gates[i])) continue;
        has_turn = true;
        take_turn(gates_[i], found_.gates[i]);
        write_state();
      }
    }
    return std::move(found_);
  }

 private:
  std::uint64_t schedules() const { return std::uint64_t(request_.each.schedules); }
  bool is_done(const Gate& gate) const {
    return gate.is_certain || !gate.failure.empty() || gate.runs >= schedules();
  }

  // Tells a state of other gates, faults or options. Their number of schedules may grow.
  std::string program() const {
    FoldHash hash(request_.each.program);
    RunWords words = options_;
    words.trace_file.clear();
    words.timeout_seconds = 60;
    words.threads = 1;
    std::string text = flags(words);
    for (const GateFile& gate : gates_) text += " " + gate.file;
    for (Fault::Kind kind : request_.faults) text += " " + std::string(to_string(kind));
    append_text(text, " {} {}", int(request_.each.policy), request_.each.takes_certificate);
    if (request_.each.reseed_at) append_text(text, " {}", *request_.each.reseed_at);
    for (char letter : text) hash.fold(std::uint64_t(letter));
    return hash_text(hash.value());
  }

  void read_state() {
    const std::string& file = request_.each.state_file;
    if (file.empty() || !std::filesystem::exists(file)) return;
    std::string text = read_file({.where = "gate/explore",
                                  .what = "the state of an exploration",
                                  .path = file,
                                  .bytes_max = std::size_t(1) << 30});
    JsonValue json = JsonValue::parse(text, "gate/explore");
    if (text_in(json, "program", file) != program()) refuse(file, "one of others");
    const JsonValue* list = json.find("gates");
    const auto* gates = list ? list->get<JsonValue::List>() : nullptr;
    if (!gates || gates->size() != found_.gates.size()) refuse(file, "other gates");
    std::transform(gates->begin(), gates->end(), found_.gates.begin(),
                   [&](const JsonValue& gate) { return gate_from(gate, file); });
  }

  void write_state() const {
    const std::string& file = request_.each.state_file;
    if (file.empty()) return;
    JsonValue json = JsonValue::object({{"program", program()}, {"gates", json_of(found_.gates)}});
    write_file(file, json.text_utf8() + "\n", "the state of an exploration");
  }

  // Makes the next runs of a gate.
  void take_turn(const GateFile& file, Gate& gate) {
    ExploreRequest request = request_.each;
    request.first = gate.runs;
    request.first_hash = gate.data_hash;
    request.schedules = std::int64_t(std::min(runs_of_turn, schedules() - gate.runs));
    request.goes_on = [&, before = runs()](const RunProgress& progress) {
      return !request_.each.goes_on ||
             request_.each.goes_on({progress.what, before + progress.done,
                                    schedules() * gates_.size(), found_.failed()});
    };
    ExploredGate seen = explore_runs(file, options_, request, request_.faults);
    found_.interrupted = seen.interrupted();
    gate.append(seen);
  }

  std::uint64_t runs() const {
    return std::accumulate(found_.gates.begin(), found_.gates.end(), std::uint64_t(0),
                           [](std::uint64_t all, const Gate& gate) { return all + gate.runs; });
  }

  const std::vector<GateFile>& gates_;
  const GateRunOptions& options_;
  const GatesRequest& request_;
  GatesExploration found_;
};

std::string runs_text(const GatesExploration& found, const Gate& gate) {
  std::string text;
  if (gate.is_certain) return "1 run stands for all schedules";
  append_text(text, "{} {}", gate.runs, found.has_faults ? "runs with faults" : "schedules");
  if (found.has_faults)
    append_text(text, ", {} reported, {} without effect", gate.reported, gate.without_effect);
  return text;
}

// Returns the sums over the gates.
Gate sums_of(const GatesExploration& found) {
  Gate all;
  for (const Gate& gate : found.gates) {
    all.runs += gate.runs;
    all.reported += gate.reported;
    all.without_effect += gate.without_effect;
  }
  return all;
}

}  // namespace

void GatesExploration::Gate::append(const ExploredGate& next) {
  if (next.has_faults || next.runs() > 0) data_hash = next.data_hash();
  runs += next.runs();
  is_certain = next.is_certain();
  for (const FaultSwarm::Count& count : next.swarm.counts) {
    reported += count.reported;
    without_effect += count.without_effect;
  }
  failure = next.failure();
  report = next.report();
  reproduce = next.reproduce;
}

std::uint64_t GatesExploration::failed() const {
  return std::uint64_t(std::count_if(gates.begin(), gates.end(),
                                     [](const Gate& gate) { return !gate.failure.empty(); }));
}

GatesExploration explore_gates(const std::vector<GateFile>& gates, const GateRunOptions& options,
                               const GatesRequest& request) {
  return GatesExplorer(gates, options, request).all();
}

std::string to_text(const GatesExploration& found, bool quiet) {
  std::string text;
  for (const Gate& gate : found.gates) {
    if (quiet) break;
    append_text(text, "{} {}: {}, data hash {}\n", gate.failure.empty() ? "pass" : "FAIL",
                gate.file, runs_text(found, gate), hash_text(gate.data_hash));
    if (!gate.failure.empty()) append_text(text, "  {}\n", gate.failure);
    if (!gate.report.empty()) append_text(text, "{}\n", gate.report);
    if (!gate.reproduce.empty()) append_text(text, "reproduce: {}\n", gate.reproduce);
  }
  append_text(text, "{} gates, {}, {} failed\n", found.gates.size(),
              runs_text(found, sums_of(found)), found.failed());
  return text;
}

std::string to_json(const GatesExploration& found) {
  JsonValue json = JsonValue::object({{"gates", json_of(found.gates)}});
  if (found.interrupted) json.set("interrupted", true);
  return json.text_utf8() + "\n";
}

}  // namespace simmesh
