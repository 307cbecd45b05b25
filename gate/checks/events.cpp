#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "core/check/join_text.h"
#include "core/check/scarcity.h"
#include "gate/check_kind.h"
#include "gate/checked_run.h"
#include "gate/file.h"
#include "gate/tables/toml_table.h"

namespace simmesh {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t events_max = 4096, event_bytes_max = 400, event_file_bytes_max = 1 << 20;

// Returns an event in parentheses. It may be written without them, or as a list of its fields.
std::string event_text(const std::vector<std::string>& fields) {
  std::string text = join_text(fields, ", ");
  bool is_closed =
      fields.size() == 1 && text.size() > 1 && text.front() == '(' && text.back() == ')';
  return is_closed ? text : "(" + text + ")";
}

bool is_plain_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char letter) { return letter >= ' ' && letter != '\x7f'; });
}

// Reads a file with one event per line. Empty lines and lines that begin with # are skipped.
std::vector<std::string> read_event_file(GateTable& table, const std::string& name) {
  fs::path path = fs::path(table.file()).parent_path() / name;
  std::error_code fault;
  bool fits =
      fs::is_regular_file(path, fault) && fs::file_size(path, fault) <= event_file_bytes_max;
  std::ifstream stream(path);
  if (fits && !stream && Scarcity::is_cause(errno)) Scarcity::note("can't open " + path.string());
  if (!fits || fault || !stream)
    table.reject("file", "a readable file of at most 1 MiB in the folder of the gate");
  std::vector<std::string> list;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (!is_plain_line(line)) table.reject("file", "lines of plain ASCII text");
    list.push_back(event_text({line}));
  }
  return list;
}

std::vector<std::string> read_event_list(GateTable& table, std::string_view key) {
  std::vector<std::string> list;
  for (const std::vector<std::string>& fields : table.rows_with_integers(key))
    list.push_back(event_text(fields));
  return list;
}

GateEvents read_event_table(GateTable& table, const ExpectUse& use) {
  GateEvents events;
  std::int64_t last = numel(use.layout.shape) - 1;
  events.rank = table.integer("rank", 0, {0, last});
  if (use.world.fold && events.rank != 0 && events.rank != last)
    table.reject("rank", fmt::format("0 or {}, the ranks that run with world.fold", last));
  events.step = table.integer("step", 0, {0, use.steps - 1});
  events.list = read_event_list(table, "list");
  std::string file = table.text("file", "");
  if (table.has("file") && table.has("list")) table.reject("file", "either a file or a list");
  if (table.has("file")) events.list = read_event_file(table, file);
  table.finish();
  return events;
}

void read_events(GateTable& table, const ExpectUse& use, GateExpect& expect) {
  GateEvents& events = expect.events;
  const toml::node* node = table.value("events");
  if (!node) return;
  if (node->is_array()) {
    events.list = read_event_list(table, "events");
  } else {
    GateTable own = *table.table("events");
    events = read_event_table(own, use);
  }
  for (const std::string& event : events.list)
    if (event.size() > event_bytes_max)
      table.reject_value("events", fmt::format("events of at most {} bytes", event_bytes_max),
                         fmt::format("one of {} bytes", event.size()));
  if (events.list.size() > events_max)
    table.reject_value("events", fmt::format("at most {} events", events_max),
                       fmt::format("{}", events.list.size()));
  if (!events.list.empty() && !use.parallel.fsdp)
    table.reject("events", "no such key in a gate without parallel.fsdp");
}

void explain_events(const GateExpect& expect, TomlTable& table) {
  table.add("events", fmt::format("{{ rank = {}, step = {}, list = {} }}", expect.events.rank,
                                  expect.events.step, toml_texts(expect.events.list)));
}

bool asks_for_events(const GateFile& gate) { return !gate.expect.events.list.empty(); }

void check_events(CheckedRun& checked) {
  const GateEvents& asked = checked.gate.expect.events;
  const std::vector<RankFindings>& ranks = checked.base.ranks;
  const std::vector<std::string>& actual =
      ranks[std::min(std::size_t(asked.rank), ranks.size() - 1)].events;
  std::string name = fmt::format("events of rank {} in step {}", asked.rank, asked.step);
  if (actual == asked.list)
    return checked.add(name, true, fmt::format("{} events", actual.size()), "the same");
  std::size_t i = 0;
  while (i < actual.size() && i < asked.list.size() && actual[i] == asked.list[i]) ++i;
  auto at = [i](const std::vector<std::string>& list) {
    return i < list.size() ? list[i] : std::string("no further event");
  };
  checked.add(name, false, fmt::format("{} as event {}", at(asked.list), i), at(actual));
  checked.result.failure = fmt::format("all {}:\n  {}", name, join_text(actual, "\n  "));
}

const CheckKind events_kind(CheckKind::OfKeys{.keys = {"events"},
                                              .after = "collective_bytes_max",
                                              .reads = read_events,
                                              .explains = explain_events,
                                              .is_asked = asks_for_events,
                                              .runs = check_events});

}  // namespace

}  // namespace simmesh
