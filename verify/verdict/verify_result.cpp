#include "verify/verdict/verify_result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check/error.h"
#include "core/check/fold_hash.h"
#include "core/check/one_line.h"
#include "core/shards/job_result.h"

namespace simmesh {

namespace {

// Folds a word into a hash that begins with its first one. A seed is joined with a constant by an
// exclusive or, which this takes away again.
void fold(std::optional<std::uint64_t>& hash, const std::optional<std::uint64_t>& word) {
  if (!word) return;
  FoldHash folded(hash ? *hash ^ FoldHash().value() : 0);
  folded.fold(*word);
  hash = folded.value();
}

}  // namespace

void VerifyResult::add(const CaseResult& one) {
  fold(data_hash, one.data_hash);
  fold(schedule_hash, one.schedule_hash);
  Count& of_kind = by_kind[one.kind];
  ++(one.failed() ? total.failed : total.passed);
  ++(one.failed() ? of_kind.failed : of_kind.passed);
  if (one.failed()) {
    failures.push_back({one.id, one.place, one.mismatches, one.mismatch_count, one.reproduce});
    return;
  }
  if (one.cheaper) cheaper.push_back({one.id, *one.cheaper});
  beyond += one.is_beyond;
}

VerifyResult united_result(const ShardResults& all) {
  VerifyResult result;
  const JsonValue* left_out = all.about.find("disputed_left_out");
  const auto* count = left_out ? left_out->get<std::int64_t>() : nullptr;
  if (!count)
    raise(ErrorKind::value_error, "verify/verdict",
          "expected the number of disputed cases left out, got {}", all.about.text(80));
  result.disputed_left_out = *count;
  bool stops = all.about.find("fail_fast") != nullptr;
  for (std::uint64_t job = 0; job < all.jobs; ++job) {
    result.add(case_result_from(result_of_job(all, job)));
    if (stops && !result.ok()) break;
  }
  return result;
}

std::string to_text(const VerifyResult& result, TextOptions options) {
  std::string last =
      fmt::format("{} passed, {} failed\n", result.total.passed, result.total.failed);
  if (options.quiet) return last;
  std::string text;
  for (const FailedCase& failure : result.failures) {
    text += fmt::format("FAIL {}:", one_line(failure.id));
    for (std::size_t i = 0; i < failure.mismatches.size(); ++i)
      text += fmt::format("{} {}\n", i == 0 ? "" : " ", failure.mismatches[i]);
    auto more = failure.mismatch_count - static_cast<std::int64_t>(failure.mismatches.size());
    if (more > 0) text += fmt::format("  and {} more\n", more);
    text += fmt::format("reproduce: {}\n", failure.reproduce);
  }
  if (result.by_kind.size() > 1)
    for (const auto& [kind, count] : result.by_kind)
      text += fmt::format("{}: {} passed, {} failed\n", kind, count.passed, count.failed);
  if (result.data_hash) text += fmt::format("data hash {:016x}\n", *result.data_hash);
  if (result.schedule_hash) text += fmt::format("schedule hash {:016x}\n", *result.schedule_hash);
  for (const CheaperCase& one : result.cheaper)
    text += fmt::format("cheaper {}: {}\n", one_line(one.id), one.plans);
  if (!result.cheaper.empty()) text += fmt::format("{} cheaper\n", result.cheaper.size());
  if (result.beyond > 0) text += fmt::format("{} beyond\n", result.beyond);
  if (result.disputed_left_out > 0)
    text += fmt::format("{} disputed cases left out; name their file to run them\n",
                        result.disputed_left_out);
  return text + last;
}

std::string to_json(const VerifyResult& result) {
  using Json = nlohmann::ordered_json;
  Json failures = Json::array();
  for (const FailedCase& failure : result.failures)
    failures.push_back({{"id", failure.id},
                        {"file", failure.place.file},
                        {"line", failure.place.line},
                        {"mismatches", failure.mismatches},
                        {"mismatch_count", failure.mismatch_count},
                        {"reproduce", failure.reproduce}});
  Json kinds = Json::object();
  for (const auto& [kind, count] : result.by_kind)
    kinds[kind] = {{"passed", count.passed}, {"failed", count.failed}};
  Json json;
  json["passed"] = result.total.passed;
  json["failed"] = result.total.failed;
  if (result.interrupted) json["interrupted"] = true;
  Json cheaper = Json::array();
  for (const CheaperCase& one : result.cheaper)
    cheaper.push_back({{"id", one.id}, {"plans", one.plans}});
  if (!cheaper.empty()) json["cheaper"] = std::move(cheaper);
  if (result.beyond > 0) json["beyond"] = result.beyond;
  json["disputed_left_out"] = result.disputed_left_out;
  if (result.data_hash) json["data_hash"] = fmt::format("{:016x}", *result.data_hash);
  if (result.schedule_hash) json["schedule_hash"] = fmt::format("{:016x}", *result.schedule_hash);
  json["kinds"] = std::move(kinds);
  json["failures"] = std::move(failures);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace simmesh
