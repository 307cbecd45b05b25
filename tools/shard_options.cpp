#include "tools/shard_options.h"

#include <cstdio>
#include <fmt/format.h>

#include "core/check/bits_hash.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/read_file.h"
#include "core/check/repro.h"
#include "core/check/write_file.h"

namespace simmesh {

void ShardOptions::add_to(CLI::App& app, const std::string& jobs) {
  app_ = &app;
  app.add_option("--shard", shard_, "only one of several shares of the " + jobs + ", such as 2/8")
      ->type_name("I/N")
      ->configurable(false);
  app.add_option("--results", file_,
                 "file for the results of a shard, for simmesh merge; default: " + app.get_name() +
                     ".I-of-N.jsonl")
      ->type_name("FILE")
      ->configurable(false);
}

std::string ShardOptions::file() const {
  if (!file_.empty()) return file_;
  JobShard shard = JobShard::parse(shard_);
  return fmt::format("{}.{}-of-{}.jsonl", app_->get_name(), shard.index, shard.count);
}

std::optional<ShardResults> ShardOptions::begin() const {
  if (shard_.empty() && !file_.empty())
    raise(ErrorKind::value_error, "tools/shard", "expected --shard with --results, got none");
  if (shard_.empty()) return std::nullopt;
  ShardResults results{.command = app_->get_name(),
                       .asked = app_->config_to_str(),
                       .revision = std::string(revision()),
                       .shard = JobShard::parse(shard_)};
  expect_writable(file(), "the results of a shard");
  return results;
}

ShardResults ShardOptions::begin_in_crew() const {
  if (!shard_.empty() || !file_.empty())
    raise(ErrorKind::value_error, "tools/shard",
          "expected no --shard and no --results in processes of MPI, got one");
  return {.command = app_->get_name(),
          .asked = app_->config_to_str(),
          .revision = std::string(revision())};
}

void ShardOptions::write(const ShardResults& results) const {
  write_file(file(), results.to_text(), "the results of a shard");
  std::fputs(fmt::format("simmesh: {} of {} jobs, shard {}, are in {}\n", results.results.size(),
                         results.jobs, to_string(results.shard), file())
                 .c_str(),
             stderr);
}

std::uint64_t input_hash(const std::vector<std::string>& paths) {
  FoldHash hash;
  for (const std::string& path : paths) {
    std::string text = read_file({.where = "tools/shard",
                                  .what = "an input of the command",
                                  .path = path,
                                  .bytes_max = std::size_t(1) << 30});
    hash.fold(bits_hash({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
  }
  return hash.value();
}

}  // namespace simmesh
