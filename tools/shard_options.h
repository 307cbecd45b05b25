#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "core/shards/shard_request.h"

namespace simmesh {

// ShardOptions are the options of a subcommand that can do a shard of its jobs, and keep their
// results in a file for `simmesh merge`.
class ShardOptions {
 public:
  // add_to adds the options. `jobs` are what is shared among the shards: "cases".
  void add_to(CLI::App& app, const std::string& jobs);
  bool is_given() const { return !shard_.empty(); }
  const std::string& shard() const { return shard_; }
  bool has_file() const { return !file_.empty(); }

  // begin returns what is known before the first job: the command and its arguments, the shard.
  // nullopt if none was asked for. Raises a ValueError for a text that is no shard, for a file
  // without a shard, and for one that can't be written.
  std::optional<ShardResults> begin() const;

  // begin_in_crew returns the same for a process of a crew. Raises a ValueError if a shard was
  // asked for, which is another way to share the jobs.
  ShardResults begin_in_crew() const;

  // write writes the results, and says on standard error where they are.
  void write(const ShardResults& results) const;

 private:
  ShardRequest request() const;

  const CLI::App* app_ = nullptr;
  std::string shard_;
  std::string file_;
};

}  // namespace simmesh
