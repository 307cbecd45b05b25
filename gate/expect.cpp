#include "gate/expect.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <limits>

#include "collectives/collective_call.h"
#include "gate/tables/mesh.h"
#include "gate/tables/world.h"

namespace simmesh {

GateSameAs read_other_run(GateTable table, const ExpectUse& use) {
  GateSameAs other{.layout = read_gate_layout(table, "mesh", GateWorld().ranks_max())};
  if (auto parallel = table.table("parallel"))
    other.parallel = read_gate_parallel(*parallel, other.layout, use.model);
  table.finish();
  return other;
}

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t count_max = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t events_max = 4096, event_bytes_max = 400, event_file_bytes_max = 1 << 20;

GateSameAs same_as_word(const std::string& word, const ExpectUse& use) {
  std::int64_t ranks = word == "single_device" ? 1 : use.parallel.parts(use.layout);
  GateSameAs other{.layout = {{ranks}, {"dp"}}, .word = word};
  other.parallel = default_parallel(word, other.layout, use.model);
  other.parallel.checkpoint_blocks = use.parallel.checkpoint_blocks;
  return other;
}

std::vector<GateSameAs> read_same_as(GateTable& table, const ExpectUse& use) {
  constexpr std::string_view words[] = {"single_device", "replicate", "fsdp", "zero0",
                                        "zero1",         "zero2",     "zero3"};
  std::vector<GateSameAs> result;
  for (GateTable::TextOrTable& entry : table.texts_or_tables("same_as")) {
    if (!entry.table &&
        std::find(std::begin(words), std::end(words), entry.text) == std::end(words))
      throw BadGate(entry.place,
                    fmt::format("key 'expect.same_as': expected '{}' or a table with mesh and "
                                "parallel, got '{}'",
                                fmt::join(words, "', '"), entry.text.substr(0, 40)));
    result.push_back(entry.table ? read_other_run(*entry.table, use)
                                 : same_as_word(entry.text, use));
    result.back().place = entry.place;
  }
  return result;
}

std::map<std::string, std::int64_t> read_collectives(GateTable& table) {
  std::map<std::string, std::int64_t> counts;
  for (std::size_t op = 0; op < collective_op_count; ++op) {
    std::string name = name_of(CollectiveOp(op));
    if (table.has(name)) counts[name] = table.integer(name, 0, {0, count_max});
  }
  table.finish();
  return counts;
}

// An event may be written without its parentheses, or as a list of its fields.
std::string event_text(const std::vector<std::string>& fields) {
  std::string text = fmt::format("{}", fmt::join(fields, ", "));
  bool is_closed =
      fields.size() == 1 && text.size() > 1 && text.front() == '(' && text.back() == ')';
  return is_closed ? text : "(" + text + ")";
}

bool is_plain_line(std::string_view line) {
  return std::all_of(line.begin(), line.end(),
                     [](char letter) { return letter >= ' ' && letter != '\x7f'; });
}

// The file has one event per line; empty lines and lines that begin with # are skipped.
std::vector<std::string> read_event_file(GateTable& table, const std::string& name) {
  fs::path path = fs::path(table.file()).parent_path() / name;
  std::error_code fault;
  bool fits =
      fs::is_regular_file(path, fault) && fs::file_size(path, fault) <= event_file_bytes_max;
  std::ifstream stream(path);
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

GateEvents read_events(GateTable& table, const ExpectUse& use) {
  GateEvents events;
  const toml::node* node = table.value("events");
  if (!node) return events;
  if (node->is_array()) {
    events.list = read_event_list(table, "events");
  } else {
    GateTable own = *table.table("events");
    events.rank = own.integer("rank", 0, {0, numel(use.layout.shape) - 1});
    events.step = own.integer("step", 0, {0, use.steps - 1});
    events.list = read_event_list(own, "list");
    std::string file = own.text("file", "");
    if (own.has("file") && own.has("list")) own.reject("file", "either a file or a list");
    if (own.has("file")) events.list = read_event_file(own, file);
    own.finish();
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
  return events;
}

}  // namespace

std::string GateSameAs::name() const {
  if (!word.empty()) return "same_as " + word;
  return fmt::format("same_as {} on {}", parallel.form(), to_string(DimSpan(layout.shape)));
}

bool GateExpect::has_same_as(std::string_view word) const {
  return std::any_of(same_as.begin(), same_as.end(),
                     [&](const GateSameAs& other) { return other.word == word; });
}

GateExpect read_gate_expect(GateTable& table, const ExpectUse& use) {
  GateExpect expect;
  expect.same_as = read_same_as(table, use);
  expect.schedules = table.integer("schedules", expect.schedules, {1, 10'000'000});
  if (auto collectives = table.table("collectives"))
    expect.collectives = read_collectives(*collectives);
  expect.peak_bytes_max = table.integer("peak_bytes_max", 0, {0, count_max});
  expect.loss = table.numbers("loss");
  expect.loss_rtol = table.number("loss_rtol", 0.0, {0, 1});
  expect.hash = table.text("hash", "");
  expect.events = read_events(table, use);
  expect.unused_gathers = table.integer("unused_gathers", expect.unused_gathers, {-1, count_max});
  expect.exposed_us_max = table.number("exposed_us_max", 0.0, {0, 1e15});
  table.finish();
  if (!expect.loss.empty() && std::int64_t(expect.loss.size()) != use.steps)
    table.reject_value("loss", fmt::format("one loss per step, {} in all", use.steps),
                       fmt::format("{}", expect.loss.size()));
  bool is_hash = expect.hash.empty() ||
                 (expect.hash.size() == 16 &&
                  expect.hash.find_first_not_of("0123456789abcdef") == expect.hash.npos);
  if (!is_hash) table.reject("hash", "16 digits of 0-9a-f");
  if (expect.unused_gathers >= 0 && !use.parallel.fsdp)
    table.reject("unused_gathers", "no such key in a gate without parallel.fsdp");
  return expect;
}

}  // namespace simmesh
