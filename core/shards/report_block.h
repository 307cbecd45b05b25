#pragma once

#include <cstdint>
#include <gsl/span>
#include <map>
#include <string>
#include <vector>

#include "core/shards/shard_results.h"

namespace simmesh {

// ReportBlock is what a command prints of one job, as text and as JSON, and what it counts of it.
// The report of all jobs has their blocks, one after another, and the sums of their counts.
struct ReportBlock {
  std::string text;
  std::string json;
  std::map<std::string, std::uint64_t> counts;
};

// to_json returns a block so that report_blocks reads it.
JsonValue to_json(const ReportBlock& block);

// report_blocks returns the blocks of all jobs, in order. Raises a ValueError where one is missing.
std::vector<ReportBlock> report_blocks(const ShardResults& all);

// count_over sums a count over blocks.
std::uint64_t count_over(gsl::span<const ReportBlock> blocks, const std::string& name);

// join_json returns the blocks as the entries of a JSON list, without its brackets.
std::string join_json(gsl::span<const ReportBlock> blocks);

}  // namespace simmesh
