#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/shards/shard_results.h"

namespace simmesh {

// ShardRequest is what the options --shard and --results of a command ask for.
//
//   ShardRequest request{.command = "verify", .shard = "1/8", .file = ""};
//   std::optional<ShardResults> keeps = request.begin("PATH=cases");
//   if (keeps) {
//     keeps->jobs = 1;
//     keeps->results.emplace(0, JsonValue("passed"));
//     request.write(*keeps);
//   }
struct ShardRequest {
  std::string command;
  std::string shard;  // "2/8"; empty: none was asked for
  std::string file;   // of the results; empty: "verify.2-of-8.jsonl"

  // begin returns what is known before the first job: the command, the arguments that decide what
  // is done and printed, the shard. nullopt if none was asked for. Raises a ValueError for a text
  // that is no shard, for a file without a shard, and for one that can't be written.
  std::optional<ShardResults> begin(const std::string& asked) const;

  // write writes the results, and says on standard error where they are.
  void write(const ShardResults& results) const;

 private:
  std::string path() const;
};

// united_from reads the files of all shards and puts them together. Raises a ValueError as united
// does, and for a file that can't be read.
ShardResults united_from(const std::vector<std::string>& paths);

// command_of_shard returns the command whose results a file has; an empty text for a file of
// anything else, and for a pipe, which it doesn't read.
std::string command_of_shard(const std::string& path);

// input_hash returns a hash of the bytes of files, in order. Raises a ValueError for one that can't
// be read.
std::uint64_t input_hash(const std::vector<std::string>& paths);

}  // namespace simmesh
