#pragma once

#include "core/shards/shard_results.h"
#include "tools/findings_option.h"
#include "tools/run_options.h"

namespace simmesh {

// UnitedOutput are the options of how the results of all shards are printed and written.
struct UnitedOutput {
  OutputOptions output;
  FindingsOption findings;
};

// Each function prints the results of all shards as one run of the subcommand prints them, and
// returns its exit status.
int print_united_run(const ShardResults& all, const UnitedOutput& options);
int print_united_verify(const ShardResults& all, const UnitedOutput& options);
int print_united_validate(const ShardResults& all, const UnitedOutput& options);
int print_united_explore(const ShardResults& all, const UnitedOutput& options);
int print_united_compose(const ShardResults& all, const UnitedOutput& options);

}  // namespace simmesh
