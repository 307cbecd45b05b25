#pragma once

#include "core/shards/shard_results.h"
#include "tools/run_options.h"

namespace simmesh {

// Each function prints the results of all shards as one run of the subcommand prints them, and
// returns its exit status.
int print_united_run(const ShardResults& all, const OutputOptions& output);
int print_united_verify(const ShardResults& all, const OutputOptions& output);
int print_united_validate(const ShardResults& all, const OutputOptions& output);

}  // namespace simmesh
