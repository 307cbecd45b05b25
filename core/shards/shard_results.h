#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/json_value.h"
#include "core/shards/job_shard.h"

namespace simmesh {

// ShardResults are the results of the jobs that a shard of a command did: what it takes to print
// what one run of the whole command prints.
struct ShardResults {
  std::string command;       // "verify"
  std::string asked;         // the arguments that decide what is done and printed
  std::uint64_t inputs = 0;  // a hash of what the command read
  std::string revision;      // of simmesh
  JobShard shard = {};
  std::uint64_t jobs = 0;                           // of all shards together
  JsonValue about = {};                             // what holds for all jobs at once
  std::map<std::uint64_t, JsonValue> results = {};  // by the number of the job

  // to_text writes the results so that shard_results_from reads them: a line of JSON for what they
  // are, and one for each job.
  std::string to_text() const;
};

// shard_results_from reads a file of results. Raises a ValueError that names the file and the line
// for a text that isn't one.
ShardResults shard_results_from(std::string_view text, const std::string& file);

// ShardFile is a file of results and its content.
struct ShardFile {
  std::string file;
  ShardResults content;
};

// united puts the results of all shards of a command together. Raises a ValueError that names the
// file, or the missing shards, if one is missing or comes twice, or if two differ in the command,
// its arguments, its inputs or the revision of simmesh.
ShardResults united(const std::vector<ShardFile>& files);

// united_draws puts results together whose jobs were handed out one by one. Raises a ValueError if
// a job was done twice, or if two differ as in united.
ShardResults united_draws(const std::vector<ShardFile>& parts);

}  // namespace simmesh
