#pragma once

#include "core/engine/reports/run_progress.h"
#include "core/shards/job_shard.h"
#include "sharding/validate/validate_sample.h"

namespace simmesh {

// ValidateRequest says which ops' rules are judged, and how.
struct ValidateRequest {
  std::vector<std::string> ops;  // none: all
  ValidateOptions options;
  std::size_t jobs = 1;
  GoesOn goes_on = nullptr;
  JobShard shard = {};  // only its share of the ops is judged
};

// RuleCounts counts the claimed rules, those of them that are wrong, the rules that hold and nobody
// claims, and the combinations of placements that were tried to find these. Rules are counted once
// a sample call; rules of two mesh dims together are counted only where they don't hold.
struct RuleCounts {
  std::uint64_t rules = 0, wrong = 0, missing = 0, combinations = 0;

  RuleCounts& operator+=(const RuleCounts& other);
};

// OpVerdict is the verdict on an op.
struct OpVerdict {
  // Way is the way in which an op runs on distributed tensors: by rules; by rules that look at all
  // mesh dims together; as other ops, whose rules count; on replicated tensors only; or not at all.
  enum class Way : std::uint8_t { rules, over_mesh, decomposed, replicated, none };

  std::string op;
  Way way = Way::none;
  std::vector<SampleVerdict> samples;

  // counts returns the sums over the samples.
  RuleCounts counts() const;
};

// ValidateResult is the verdict on all ops.
struct ValidateResult {
  std::vector<OpVerdict> ops;
  bool interrupted = false;

  // counts returns the sums over all ops.
  RuleCounts counts() const;
  // ok is true if no rule is wrong.
  bool ok() const { return counts().wrong == 0; }
};

// validate judges the rules of the library's ops on all their sample calls. The result doesn't
// depend on the number of jobs. Raises a ValueError for a name that is no op.
ValidateResult validate(const ValidateRequest& request);

// op_count returns the number of ops that a request names, of all shards together.
std::uint64_t op_count(const ValidateRequest& request);

// way_of returns how an op runs on distributed tensors.
OpVerdict::Way way_of(const Op& op);
std::string_view to_string(OpVerdict::Way way);

}  // namespace simmesh
