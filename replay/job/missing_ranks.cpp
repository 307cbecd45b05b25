#include "replay/job/missing_ranks.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "core/check/error.h"
#include "replay/job/rank_copy.h"

namespace simmesh::replay {

namespace {

constexpr std::string_view in_missing_ranks = "replay/missing_ranks";
constexpr std::size_t missing_ranks_max = 4096;

JobGroups clear_groups(const TraceJob& job) {
  Findings findings;
  JobGroups groups = resolve_groups(job, findings);
  for (const Finding& finding : findings)
    if (finding.severity == Severity::error)
      raise(ErrorKind::value_error, in_missing_ranks, "the groups of the job are unclear: {}",
            to_string(finding));
  return groups;
}

// Tries the ranks that have a trace one after another; the error of the first one is raised.
RankTrace synthesise(const TraceJob& job, const JobGroups& groups, std::int64_t rank,
                     std::vector<std::string>& sentences) {
  constexpr std::size_t tries_max = 16;
  std::exception_ptr first;
  for (std::size_t position = 0; position < std::min(job.ranks.size(), tries_max); ++position) {
    try {
      RankTrace made = copy_rank(job, groups, position, rank);
      sentences.push_back(
          fmt::format("rank {} is synthesised from rank {}", rank, groups.ranks[position]));
      return made;
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  std::rethrow_exception(first);
}

}  // namespace

std::vector<std::string> fill_missing_ranks(TraceJob& job) {
  if (job.ranks.empty())
    raise(ErrorKind::value_error, in_missing_ranks,
          "expected the trace of at least one rank, got none");
  JobGroups groups = clear_groups(job);
  std::vector<std::string> sentences;
  for (std::size_t position = 0; position < job.ranks.size(); ++position)
    if (groups.ranks[position] != job.ranks[position].rank)
      sentences.push_back(fmt::format("{} is rank {}, as its collectives record",
                                      job.ranks[position].file, groups.ranks[position]));
  std::set<std::int64_t> present(groups.ranks.begin(), groups.ranks.end());
  std::vector<std::int64_t> missing;
  for (std::int64_t rank = 0; rank < groups.world_size; ++rank)
    if (!present.contains(rank)) missing.push_back(rank);
  if (missing.size() > missing_ranks_max)
    raise(ErrorKind::value_error, in_missing_ranks,
          "expected at most {} missing ranks, got {} of {}", missing_ranks_max, missing.size(),
          groups.world_size);
  std::vector<RankTrace> made;
  made.reserve(missing.size());
  for (std::int64_t rank : missing) made.push_back(synthesise(job, groups, rank, sentences));
  for (std::size_t position = 0; position < job.ranks.size(); ++position)
    job.ranks[position].rank = groups.ranks[position];
  for (RankTrace& rank : made) job.ranks.push_back(std::move(rank));
  std::sort(job.ranks.begin(), job.ranks.end(),
            [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
  return sentences;
}

}  // namespace simmesh::replay
