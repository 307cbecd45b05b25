#include "core/shards/shard_results.h"

#include <algorithm>
#include <fmt/format.h>
#include <gsl/span>
#include <optional>
#include <utility>

#include "core/check/error.h"
#include "core/check/hash_text.h"
#include "core/check/join_text.h"

namespace simmesh {

namespace {

constexpr std::string_view where = "core/shards";
constexpr std::string_view format_name = "simmesh shard 1";

// A line of a file of results.
class ResultLine {
 public:
  ResultLine(std::string_view text, const std::string& file, std::size_t number)
      : file_(file), number_(number) {
    try {
      value_ = JsonValue::parse(text, where);
    } catch (const Error& error) {
      refuse("a line of JSON", error.what());
    }
  }

  template <class T>
  const T& get(std::string_view key, std::string_view expected) const {
    const JsonValue* found = value_.find(key);
    const T* value = found ? found->get<T>() : nullptr;
    if (!value) refuse(fmt::format("{} under '{}'", expected, key), value_.text(80));
    return *value;
  }
  const JsonValue& get(std::string_view key) const {
    const JsonValue* found = value_.find(key);
    if (!found) refuse(fmt::format("a value under '{}'", key), value_.text(80));
    return *found;
  }
  std::uint64_t count(std::string_view key) const {
    std::int64_t value = get<std::int64_t>(key, "a number of at least 0");
    if (value < 0) refuse("a number of at least 0", std::to_string(value));
    return std::uint64_t(value);
  }
  std::uint64_t hash(std::string_view key) const {
    const std::string& text = get<std::string>(key, "a hash");
    std::optional<std::uint64_t> hash = hash_from_text(text);
    if (!hash) refuse("a hash of 16 digits", text);
    return *hash;
  }

  [[noreturn]] void refuse(std::string_view expected, std::string_view got) const {
    raise(ErrorKind::value_error, where, "{}:{}: expected {}, got {}", file_, number_, expected,
          got);
  }

 private:
  const std::string& file_;
  std::size_t number_;
  JsonValue value_;
};

ShardResults read_head(const ResultLine& line) {
  const std::string& format = line.get<std::string>("format", "the format of the results");
  if (format != format_name) line.refuse(fmt::format("the format '{}'", format_name), format);
  ShardResults head;
  head.command = line.get<std::string>("command", "the name of a command");
  head.asked = line.get<std::string>("asked", "the arguments of a command");
  head.inputs = line.hash("inputs");
  head.revision = line.get<std::string>("revision", "a revision of simmesh");
  head.shard = JobShard::parse(line.get<std::string>("shard", "a shard"));
  head.jobs = line.count("jobs");
  head.about = line.get("about");
  return head;
}

// Refuses a file that isn't of the same work as the first one.
void expect_same(const ShardFile& first, const ShardFile& other) {
  auto expect = [&](std::string_view what, const std::string& expected, const std::string& got) {
    if (expected != got)
      raise(ErrorKind::value_error, where, "{}: expected the {} of {}, {}, got {}", other.file,
            what, first.file, expected, got);
  };
  const ShardResults &one = first.content, &two = other.content;
  expect("command", one.command, two.command);
  expect("revision of simmesh", one.revision, two.revision);
  expect("arguments", one.asked, two.asked);
  expect("number of shards", std::to_string(one.shard.count), std::to_string(two.shard.count));
  expect("hash of the inputs", hash_text(one.inputs), hash_text(two.inputs));
  expect("number of jobs", std::to_string(one.jobs), std::to_string(two.jobs));
  expect("facts", one.about.text(), two.about.text());
}

}  // namespace

std::string ShardResults::to_text() const {
  JsonValue head = JsonValue::object({{"format", format_name},
                                      {"command", command},
                                      {"asked", asked},
                                      {"inputs", hash_text(inputs)},
                                      {"revision", revision},
                                      {"shard", to_string(shard)},
                                      {"jobs", jobs},
                                      {"about", about}});
  std::string text = head.text_utf8() + "\n";
  for (const auto& [job, result] : results)
    text += JsonValue::object({{"job", job}, {"result", result}}).text_utf8() + "\n";
  return text;
}

ShardResults shard_results_from(std::string_view text, const std::string& file) {
  ShardResults all;
  for (std::size_t number = 1; number == 1 || !text.empty(); ++number) {
    ResultLine line(text.substr(0, text.find('\n')), file, number);
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (number == 1) {
      all = read_head(line);
      continue;
    }
    std::uint64_t job = line.count("job");
    bool is_own = job < all.jobs && job % all.shard.count == all.shard.index - 1;
    if (!is_own || !all.results.emplace(job, line.get("result")).second)
      line.refuse(fmt::format("a job of shard {} that no other line has", to_string(all.shard)),
                  std::to_string(job));
  }
  return all;
}

ShardResults united(const std::vector<ShardFile>& files) {
  if (files.empty())
    raise(ErrorKind::value_error, where, "expected the files of all shards, got none");
  const ShardFile& first = files.front();
  std::map<std::uint64_t, const ShardFile*> by_index;
  for (const ShardFile& file : files) {
    expect_same(first, file);
    auto [entry, is_new] = by_index.emplace(file.content.shard.index, &file);
    if (!is_new)
      raise(ErrorKind::value_error, where, "{}: expected another shard than {} has, got {} again",
            file.file, entry->second->file, to_string(file.content.shard));
  }
  std::vector<std::string> missing;
  for (std::uint64_t index = 1; index <= first.content.shard.count; ++index)
    if (!by_index.contains(index))
      missing.push_back(to_string(JobShard{index, first.content.shard.count}));
  if (!missing.empty())
    raise(ErrorKind::value_error, where, "expected the files of {} shards, got none of {}",
          first.content.shard.count, join_text(missing, ", "));
  ShardResults all = first.content;
  all.shard = {};
  for (const ShardFile& file : files)
    all.results.insert(file.content.results.begin(), file.content.results.end());
  return all;
}

ShardResults united_draws(const std::vector<ShardFile>& parts) {
  ShardResults all = parts.at(0).content;
  for (const ShardFile& part : gsl::span(parts).subspan(1)) {
    expect_same(parts[0], part);
    for (const auto& [job, result] : part.content.results)
      if (!all.results.emplace(job, result).second)
        raise(ErrorKind::value_error, where, "{}: expected a job that no other did, got job {}",
              part.file, job);
  }
  return all;
}

}  // namespace simmesh
