#pragma once

#include "core/engine/reports/run_progress.h"
#include "verify/pytorch/ops/rule_table.h"

namespace simmesh {

// RuleFilesRequest has the files with recorded cases of kind rules that are judged.
struct RuleFilesRequest {
  std::vector<std::string> paths;
  std::uint64_t seed = 0;
  std::size_t jobs = 1;
  GoesOn goes_on = nullptr;
};

// RuleFilesResult has the verdicts on their tables, in their order.
struct RuleFilesResult {
  std::vector<RuleTableVerdict> tables;
  bool interrupted = false;

  std::uint64_t rule_count() const;
  std::uint64_t refuted_count() const;
  std::uint64_t beyond_count() const;
  bool ok() const { return refuted_count() == 0; }
};

// judge_rule_files judges all tables. Raises a BadCase for broken input, and a ValueError for a
// path that is neither file nor folder, for paths without any case, and for a case of another kind
// in a file that is named.
RuleFilesResult judge_rule_files(const RuleFilesRequest& request);

// reproduce_command returns the command line that judges the same files again.
std::string reproduce_command(const RuleFilesRequest& request);

// to_text returns a line a table. Below it come the rules that are refuted and, if asked, the rules
// of ours that the table lacks, with their number. The last line is "N rules, N wrong, 0 missing".
struct RuleFilesReport {
  bool quiet = false;
  bool shows_beyond = false;
};
std::string to_text(const RuleFilesResult& result, const RuleFilesRequest& request,
                    const RuleFilesReport& report);

}  // namespace simmesh
