#include "replay/job/trace_job.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "replay/read/bad_trace.h"
#include "replay/read/read_ahead.h"
#include "replay/read/read_execution_trace.h"
#include "replay/read/trace_form.h"
#include "replay/read/unpack.h"

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

void read_rank(ByteSource& source, TraceJob& job) {
  try {
    ReadAhead ahead(source);
    job.ranks.push_back({.rank = 0, .file = source.name(), .trace = read_execution_trace(ahead)});
  } catch (const BadTrace& bad) {
    job.findings.push_back({.severity = Severity::error,
                            .rule = bad.rule(),
                            .rank = rank_in_name(source.name()),
                            .node = std::nullopt,
                            .field = "",
                            .message = std::string(bad.message())});
  }
}

void number_ranks(TraceJob& job) {
  std::set<std::int64_t> taken;
  for (RankTrace& rank : job.ranks) {
    auto number = rank_in_name(rank.file);
    if (!number || !taken.insert(*number).second) {
      std::int64_t next = 0;
      for (RankTrace& each : job.ranks) each.rank = next++;
      return;
    }
    rank.rank = *number;
  }
}

}  // namespace

const RankTrace* TraceJob::find(std::int64_t rank) const {
  for (const RankTrace& each : ranks)
    if (each.rank == rank) return &each;
  return nullptr;
}

std::optional<std::int64_t> rank_in_name(std::string_view file) {
  std::string_view name = base_name(file);
  for (std::string_view word : {"rank", "worker"})
    if (auto number = number_after(name, word)) return number;
  for (std::string_view extension : {".gz", ".json", ".pt", ".et"})
    if (name.ends_with(extension)) name.remove_suffix(extension.size());
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[name.size() - 1 - digits])) ++digits;
  std::string_view number = name.substr(name.size() - digits);
  bool stands_apart = digits < name.size() && (name[name.size() - 1 - digits] == '_' ||
                                               name[name.size() - 1 - digits] == '-');
  return stands_apart || digits == name.size() ? number_at(number) : std::nullopt;
}

TraceJob read_job(gsl::span<const std::string> paths) {
  TraceJob job;
  for (const std::string& path : paths)
    for_each_file(path, [&](ByteSource& source) {
      if (auto resource = read_resource(source))
        job.resources.push_back(std::move(*resource));
      else if (is_of_form(source, path, {TraceForm::execution_trace, TraceForm::unknown}))
        read_rank(source, job);
    });
  number_ranks(job);
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  return job;
}

}  // namespace simmesh::replay
