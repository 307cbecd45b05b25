#include "replay/job/trace_job.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "replay/read/bad_trace.h"
#include "replay/read/json_keys.h"
#include "replay/read/json_repair.h"
#include "replay/read/read_ahead.h"
#include "replay/read/read_execution_trace.h"
#include "replay/read/trace_form.h"
#include "replay/read/unpack.h"
#include "replay/trace/finding_at.h"

namespace simmesh::replay {

namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

std::optional<std::int64_t> number_at(std::string_view text) {
  std::int64_t number = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || text.empty() || !is_digit(text[0])) return std::nullopt;
  return number;
}

std::string_view base_name(std::string_view file) {
  return file.substr(file.find_last_of("/:") + 1);
}

std::optional<std::int64_t> number_after(std::string_view name, std::string_view word) {
  std::size_t place = name.find(word);
  if (place == std::string_view::npos) return std::nullopt;
  name.remove_prefix(place + word.size());
  if (name.starts_with('-') || name.starts_with('_')) name.remove_prefix(1);
  return number_at(name);
}

void add_bad_trace(const BadTrace& bad, const std::string& file, TraceJob& job) {
  job.findings.push_back(
      error_at(bad.rule(), {.rank = rank_in_name(file)}, std::string(bad.message())));
}

void read_rank(ByteSource& source, OperatorLabels labels, TraceJob& job) {
  try {
    ReadAhead ahead(source);
    job.ranks.push_back(
        {.rank = 0, .file = source.name(), .trace = read_execution_trace(ahead, labels)});
  } catch (const BadTrace& bad) {
    add_bad_trace(bad, source.name(), job);
  }
}

// Returns the number after "rank" or "worker".
std::optional<std::int64_t> rank_in_words(std::string_view name) {
  for (std::string_view word : {"rank", "worker"})
    if (auto number = number_after(name, word)) return number;
  return std::nullopt;
}

// Returns the rank in the name of a file's folder: 3 for "job/rank3/trace.json".
std::optional<std::int64_t> rank_in_folder(std::string_view file) {
  std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::nullopt
                                         : rank_in_words(base_name(file.substr(0, slash)));
}

using RankOfFile = std::optional<std::int64_t> (*)(std::string_view file);

// Numbers the ranks by what their files say; false where one says nothing or two the same.
bool number_by(TraceJob& job, RankOfFile rank_of) {
  std::set<std::int64_t> taken;
  for (const RankTrace& rank : job.ranks) {
    auto number = rank_of(rank.file);
    if (!number || !taken.insert(*number).second) return false;
  }
  for (RankTrace& rank : job.ranks) rank.rank = *rank_of(rank.file);
  return true;
}

// Leaves out a trace of a rank that another one is of, as those of several iterations are.
void leave_out_second_traces(TraceJob& job) {
  std::map<std::int64_t, std::string> first_files;
  std::vector<RankTrace> kept;
  for (RankTrace& rank : job.ranks) {
    rank.rank = *rank_in_name(rank.file);
    auto [first, is_new] = first_files.emplace(rank.rank, rank.file);
    if (is_new) {
      kept.push_back(std::move(rank));
      continue;
    }
    job.findings.push_back(error_at(
        "rank_twice", {.rank = rank.rank},
        fmt::format("expected one trace of a rank, got {} and {}", first->second, rank.file)));
  }
  job.ranks = std::move(kept);
}

void number_ranks(TraceJob& job) {
  if (number_by(job, rank_in_name) || number_by(job, rank_in_folder)) return;
  bool are_named = std::all_of(job.ranks.begin(), job.ranks.end(), [](const RankTrace& rank) {
    return rank_in_words(base_name(rank.file)).has_value();
  });
  if (are_named) return leave_out_second_traces(job);
  std::int64_t next = 0;
  for (RankTrace& rank : job.ranks) rank.rank = next++;
}

// Says which keys a file has that is named and is no trace.
void add_other_json(ByteSource& source, TraceJob& job) {
  std::string names;
  for (const JsonKey& key : json_keys(source.head()).keys)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", shown_bytes(key.name));
  job.findings.push_back(
      error_at("top_level", {.rank = rank_in_name(source.name())},
               fmt::format("{}: expected a trace, which has a list 'nodes', 'traceEvents' or "
                           "'workload_graph', got JSON with {}",
                           source.name(), names.empty() ? "no keys" : "the keys " + names)));
}

}  // namespace

const RankTrace* TraceJob::find(std::int64_t rank) const {
  for (const RankTrace& each : ranks)
    if (each.rank == rank) return &each;
  return nullptr;
}

std::optional<std::int64_t> rank_in_name(std::string_view file) {
  std::string_view name = base_name(file);
  if (auto number = rank_in_words(name)) return number;
  // Names such as "all_reduce.3.et" are those of ASTRA-sim's graphs.
  bool is_graph = name.ends_with(".et") || name.ends_with(".et.gz");
  for (std::string_view extension : {".gz", ".json", ".pt", ".et"})
    if (name.ends_with(extension)) name.remove_suffix(extension.size());
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[name.size() - 1 - digits])) ++digits;
  std::string_view number = name.substr(name.size() - digits);
  bool stands_apart = digits < name.size() && (name[name.size() - 1 - digits] == '_' ||
                                               name[name.size() - 1 - digits] == '-' ||
                                               (is_graph && name[name.size() - 1 - digits] == '.'));
  return stands_apart || digits == name.size() ? number_at(number) : std::nullopt;
}

TraceJob read_job(gsl::span<const std::string> paths, OperatorLabels labels) {
  TraceJob job;
  for (const std::string& path : paths)
    for_each_file(path, [&](ByteSource& source) {
      if (auto resource = read_resource(source))
        job.resources.push_back(std::move(*resource));
      else if (is_of_form(source, path, {TraceForm::execution_trace, TraceForm::unknown}))
        read_rank(source, labels, job);
      else if (source.name() == path && form_of(source) == TraceForm::other_json)
        add_other_json(source, job);
    });
  number_ranks(job);
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  return job;
}

}  // namespace simmesh::replay
