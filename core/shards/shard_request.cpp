#include "core/shards/shard_request.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "core/check/bits_hash.h"
#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/read_file.h"
#include "core/check/repro.h"
#include "core/check/write_file.h"

namespace simmesh {

namespace {

constexpr std::string_view place = "core/shards";
constexpr const char* content = "the results of a shard";

}  // namespace

std::string ShardRequest::path() const {
  if (!file.empty()) return file;
  JobShard part = JobShard::parse(shard);
  return fmt::format("{}.{}-of-{}.jsonl", command, part.index, part.count);
}

std::optional<ShardResults> ShardRequest::begin(const std::string& asked) const {
  if (shard.empty() && !file.empty())
    raise(ErrorKind::value_error, place, "expected --shard with --results, got none");
  if (shard.empty()) return std::nullopt;
  ShardResults results{.command = command,
                       .asked = asked,
                       .revision = std::string(revision()),
                       .shard = JobShard::parse(shard)};
  expect_writable(path(), content);
  return results;
}

void ShardRequest::write(const ShardResults& results) const {
  write_file(path(), results.to_text(), content);
  std::fputs(fmt::format("simmesh: {} of {} jobs, shard {}, are in {}\n", results.results.size(),
                         results.jobs, to_string(results.shard), path())
                 .c_str(),
             stderr);
}

ShardResults united_from(const std::vector<std::string>& paths) {
  std::vector<ShardFile> files;
  for (const std::string& path : paths) {
    std::string text = read_file({.where = place,
                                  .what = "a file of results",
                                  .path = path,
                                  .bytes_max = std::size_t(1) << 32});
    files.push_back({path, shard_results_from(text, path)});
  }
  return united(files);
}

std::string command_of_shard(const std::string& path) {
  // A pipe can be read but once.
  if (!std::filesystem::is_regular_file(path)) return "";
  std::ifstream file(path);
  std::string head;
  std::getline(file, head);
  try {
    return shard_results_from(head, path).command;
  } catch (const Error&) {
    return "";
  }
}

std::uint64_t input_hash(const std::vector<std::string>& paths) {
  FoldHash hash;
  for (const std::string& path : paths) {
    std::string text = read_file({.where = place,
                                  .what = "an input of the command",
                                  .path = path,
                                  .bytes_max = std::size_t(1) << 30});
    hash.fold(bits_hash({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
  }
  return hash.value();
}

}  // namespace simmesh
