#include "replay/validate/validate_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "replay/job/job_groups.h"
#include "replay/job/majority.h"
#include "replay/trace/finding_at.h"
#include "replay/validate/check_comms.h"
#include "replay/validate/check_resources.h"
#include "replay/validate/check_structure.h"
#include "replay/validate/check_tensors.h"
#include "replay/validate/compare_ranks.h"
#include "replay/validate/match_messages.h"

namespace simmesh::replay {

namespace {

constexpr std::size_t findings_max = 20;  // of a rule about a rank

// Adds findings: for each rule about a rank only the first ones.
void add_first(Findings&& found, Findings& findings) {
  using Key = std::pair<std::string, std::optional<std::int64_t>>;
  std::map<Key, std::pair<std::size_t, Finding>> others;
  std::map<Key, std::size_t> counts;
  for (Finding& finding : found) {
    Key key(finding.rule, finding.rank);
    if (++counts[key] <= findings_max)
      findings.push_back(std::move(finding));
    else
      ++others.try_emplace(key, 0, std::move(finding)).first->second.first;
  }
  for (auto& [key, more] : others) {
    more.second.message =
        fmt::format("{} more such findings; the first: {}", more.first, more.second.message);
    findings.push_back(std::move(more.second));
  }
}

void check_trace(const RankTrace& rank, Findings& findings) {
  Findings found = rank.trace.findings;
  for (Finding& finding : found) finding.rank = rank.rank;
  check_structure(rank, found);
  check_tensors(rank, found);
  add_first(std::move(found), findings);
}

void compare_schemas(const TraceJob& job, Findings& findings) {
  std::vector<std::string> schemas;
  for (const RankTrace& rank : job.ranks) schemas.push_back(rank.trace.schema.text);
  const std::string& schema = majority(schemas);
  for (const RankTrace& rank : job.ranks)
    if (rank.trace.schema.text != schema)
      findings.push_back(warning_at("schema_mixed", {.rank = rank.rank, .field = "schema"},
                                    fmt::format("expected the schema '{}' of other ranks, got '{}'",
                                                schema, rank.trace.schema.text)));
}

// "1-3, 7" for the first few stretches of missing ranks.
struct MissingRanks {
  std::int64_t count = 0;
  std::string text;
};

MissingRanks missing_ranks(const JobGroups& groups) {
  constexpr int stretches_shown = 8;
  std::set<std::int64_t> present(groups.ranks.begin(), groups.ranks.end());
  present.insert(groups.world_size);
  MissingRanks missing;
  std::int64_t next = 0;
  int stretches = 0;
  for (std::int64_t rank : present) {
    std::int64_t count = std::min(rank, groups.world_size) - next;
    if (count > 0) {
      missing.count += count;
      if (++stretches <= stretches_shown)
        missing.text += fmt::format("{}{}", missing.text.empty() ? "" : ", ", next);
      if (count > 1 && stretches <= stretches_shown) missing.text += fmt::format("-{}", rank - 1);
    }
    next = std::max(next, rank + 1);
  }
  if (stretches > stretches_shown) missing.text += ", ...";
  return missing;
}

void check_ranks(const TraceJob& job, const JobGroups& groups, Findings& findings) {
  MissingRanks missing = missing_ranks(groups);
  if (missing.count == 0) return;
  bool is_alone = job.ranks.size() + job.findings.size() == 1;
  std::string message = fmt::format("expected traces of {} ranks, got {}; there is none of rank {}",
                                    groups.world_size, job.ranks.size(), missing.text);
  if (is_alone) message += ", so that nothing is compared across ranks";
  findings.push_back(is_alone ? warning_at("rank_missing", {}, std::move(message))
                              : error_at("rank_missing", {}, std::move(message)));
}

void check_groups(const TraceJob& job, Findings& findings) {
  Findings found;
  JobGroups groups = resolve_groups(job, found);
  JobView view(job, groups);
  check_ranks(job, groups, found);
  CommFaults faults = check_comms(view, found);
  for (const GroupTraffic& traffic : group_traffic(view, found)) {
    compare_ranks(view, traffic, faults, found);
    match_messages(view, traffic, found);
  }
  add_first(std::move(found), findings);
}

}  // namespace

Findings validate(const TraceJob& job) {
  Findings findings = job.findings;
  if (job.ranks.empty()) {
    if (findings.empty())
      findings.push_back(error_at("top_level", {}, "expected traces, got none"));
    return findings;
  }
  for (const RankTrace& rank : job.ranks) check_trace(rank, findings);
  check_resources(job, findings);
  compare_schemas(job, findings);
  check_groups(job, findings);
  return findings;
}

}  // namespace simmesh::replay
