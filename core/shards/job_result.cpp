#include "core/shards/job_result.h"

#include "core/check/error.h"

namespace simmesh {

const JsonValue& result_of_job(const ShardResults& all, std::uint64_t job) {
  auto found = all.results.find(job);
  if (found == all.results.end())
    raise(ErrorKind::value_error, "core/shards",
          "expected a result of each of {} jobs, got none of number {}", all.jobs, job + 1);
  return found->second;
}

void refuse_member(const JsonValue& result, std::string_view key) {
  raise(ErrorKind::value_error, "core/shards", "expected a result with a value under '{}', got {}",
        key, result.text(80));
}

std::vector<std::string> texts_of_member(const JsonValue& result, std::string_view key) {
  JsonValue::List entries;
  read_member(result, key, entries);
  std::vector<std::string> texts;
  for (const JsonValue& entry : entries) {
    const auto* text = entry.get<std::string>();
    if (!text) refuse_member(result, key);
    texts.push_back(*text);
  }
  return texts;
}

}  // namespace simmesh
