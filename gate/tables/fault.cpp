#include "gate/tables/fault.h"

#include <charconv>
#include <fmt/format.h>
#include <limits>

#include "core/check/check.h"

namespace simmesh {

namespace {

constexpr Fault::Kind kinds[] = {
    Fault::Kind::kill,     Fault::Kind::starve,          Fault::Kind::abandon,
    Fault::Kind::flip_bit, Fault::Kind::fail_allocation, Fault::Kind::call_another};
constexpr std::int64_t number_max = std::numeric_limits<std::int64_t>::max();

bool needs_operation(Fault::Kind kind) {
  return kind != Fault::Kind::starve && kind != Fault::Kind::fail_allocation;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    words.push_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads "step 1 backward" or "operation 5"; returns false for anything else.
bool read_at(std::string_view text, const FaultLimits& limits, GateFault& fault) {
  std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2) return false;
  std::optional<std::int64_t> number = number_of(words[1]);
  if (!number) return false;
  if (words.size() == 2 && words[0] == "operation") {
    fault.number = std::uint64_t(*number);
    return *number > 0;
  }
  if (words.size() != 3 || words[0] != "step" || *number < 0 || *number >= limits.steps)
    return false;
  fault.step = *number;
  for (TrainPhase phase : {TrainPhase::forward, TrainPhase::backward, TrainPhase::optimizer}) {
    if (to_string(phase) != words[2]) continue;
    fault.phase = phase;
    return true;
  }
  return false;
}

RankId rank_of(GateTable& table, const FaultLimits& limits) {
  if (!table.has("stage")) return RankId(table.integer("rank", 0, {0, limits.ranks - 1}));
  if (table.has("rank")) table.reject("stage", "either a rank or a stage");
  const std::vector<RankId>& ranks = limits.ranks_of_stages;
  if (ranks.empty()) table.reject("stage", "no such key in a gate without parallel.pipeline");
  return ranks[std::size_t(table.integer("stage", 0, {0, std::int64_t(ranks.size()) - 1}))];
}

GateFault read_fault(GateTable& table, Fault::Kind kind, const FaultLimits& limits) {
  GateFault fault;
  fault.kind = kind;
  fault.place = table.place();
  fault.rank = rank_of(table, limits);
  if (kind == Fault::Kind::fail_allocation)
    fault.number = std::uint64_t(table.integer("allocation", 1, {1, number_max}));
  if (kind == Fault::Kind::flip_bit)
    fault.bit = std::uint64_t(table.integer("bit", 0, {0, number_max}));
  if (needs_operation(kind) && !read_at(table.text("at", "step 0 backward"), limits, fault))
    table.reject("at", fmt::format("'step S forward', 'step S backward', 'step S optimizer' with "
                                   "a step from 0 to {}, or 'operation N'",
                                   limits.steps - 1));
  table.finish();
  return fault;
}

}  // namespace

bool GateFault::is_at_phase() const { return needs_operation(kind) && !number; }

std::string_view to_string(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kill: return "kill";
    case Fault::Kind::starve: return "starve";
    case Fault::Kind::abandon: return "abandon";
    case Fault::Kind::flip_bit: return "flip_bit";
    case Fault::Kind::fail_allocation: return "fail_allocation";
    case Fault::Kind::call_another: return "call_another";
  }
  SIMMESH_CHECK(false, "unknown kind of fault {}", int(kind));
}

std::vector<GateFault> read_gate_faults(GateTable& table, const FaultLimits& limits) {
  std::vector<GateFault> faults;
  for (Fault::Kind kind : kinds)
    for (GateTable& entry : table.tables(to_string(kind)))
      faults.push_back(read_fault(entry, kind, limits));
  table.finish();
  return faults;
}

std::string at_of(const GateFault& fault) {
  if (fault.number) return fmt::format("operation {}", *fault.number);
  return fmt::format("step {} {}", fault.step, to_string(fault.phase));
}

std::string describe(const GateFault& fault) {
  std::string text = fmt::format("{} of rank {}", to_string(fault.kind), fault.rank);
  if (needs_operation(fault.kind)) text += " at " + at_of(fault);
  if (fault.kind == Fault::Kind::fail_allocation) text += fmt::format(", number {}", *fault.number);
  if (fault.kind == Fault::Kind::flip_bit) text += fmt::format(", bit {}", fault.bit);
  return text;
}

Fault engine_fault(const GateFault& fault) {
  std::uint64_t number = fault.number.value_or(1);
  switch (fault.kind) {
    case Fault::Kind::kill: return Fault::kill({fault.rank, number});
    case Fault::Kind::starve: return Fault::starve(fault.rank);
    case Fault::Kind::abandon: return Fault::abandon({fault.rank, number});
    case Fault::Kind::flip_bit: return Fault::flip_bit({fault.rank, number, fault.bit});
    case Fault::Kind::fail_allocation: return Fault::fail_allocation({fault.rank, number});
    case Fault::Kind::call_another: return Fault::call_another({fault.rank, number});
  }
  SIMMESH_CHECK(false, "unknown kind of fault {}", int(fault.kind));
}

}  // namespace simmesh
