#include "verify/verify.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>

#include "core/check/check.h"
#include "core/check/json_fault.h"
#include "core/check/one_line.h"
#include "core/check/shell_word.h"
#include "core/engine/ordered_jobs.h"
#include "verify/case_files.h"
#include "verify/case_kind.h"
#include "verify/schema_check.h"

namespace simmesh {

namespace {

std::string reproduce_line(const RecordedCase& recorded, const VerifyOptions& options) {
  return fmt::format("simmesh verify {} --id {}{}", shell_word(recorded.place().file),
                     shell_word(glob_literal(recorded.id())), flags(options));
}

// Returns the release of PyTorch that a case was recorded from; the newest where its source names
// none. Raises an Error for another release than those that are known.
Release release_of(const RecordedCase& recorded) {
  auto source = recorded.find("source");
  constexpr std::string_view mark = "pytorch ";
  if (!source || !source->text().starts_with(mark)) return newest_release;
  std::string version = source->text().substr(mark.size());
  return parse_release(version.substr(0, version.find('.', version.find('.') + 1)));
}

void fold(std::optional<FoldHash>& hash, const std::optional<std::uint64_t>& word) {
  if (!word) return;
  if (!hash) hash.emplace();
  hash->fold(*word);
}

}  // namespace

CaseReport verify_case(const RecordedCase& recorded, const VerifyOptions& options) {
  CaseReport report;
  const CaseKind* kind = CaseKind::find(recorded.kind());
  if (kind == nullptr) {
    report.mismatch(fmt::format("the kind '{}' is not known", recorded.kind()));
    return report;
  }
  if (!check_schema(recorded.root(), kind->schema(), report)) return report;
  try {
    VerifyOptions own = options;
    if (!own.release) own.release = release_of(recorded);
    kind->verifier()(recorded, own, report);
  } catch (const BadCase&) {
    throw;
  } catch (const Error& error) {
    report.mismatch(
        fmt::format("expected no error, got a {}: {}", to_string(error.kind()), error.what()));
  } catch (const ContractViolation&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    // A case that names what it doesn't have ends here, by std::out_of_range.
    report.mismatch(fmt::format("expected no exception, got: {}", json_fault(error.what())));
  }
  return report;
}

namespace {

// A contract of simmesh that a case breaks fails that case, under its name. The others are still
// run.
CaseReport report_of(const RecordedCase& recorded, const VerifyOptions& options) {
  try {
    return verify_case(recorded, options);
  } catch (const ContractViolation& defect) {
    CaseReport report;
    report.mismatch(fmt::format("a defect of simmesh: {}", defect.what()));
    return report;
  }
}

}  // namespace

VerifyResult verify(const VerifyRequest& request) {
  CaseFiles files = load_cases(request.paths, [&](const RecordedCase& recorded) {
    return request.filter.matches(recorded);
  });
  if (files.cases.empty() && !request.filter.id.empty())
    raise(ErrorKind::value_error, "verify", "expected a case with an id like '{}', got none{}",
          one_line(request.filter.id),
          files.disputed_left_out > 0 ? ": it is a disputed case, so name its file" : "");
  std::uint64_t count = std::min<std::uint64_t>(files.cases.size(), std::uint64_t(request.limit));
  if (!request.options.trace_file.empty() && count != 1)
    raise(ErrorKind::value_error, "verify", "expected one case to trace, got {}", count);
  VerifyResult result;
  result.disputed_left_out = files.disputed_left_out;
  std::optional<FoldHash> data, schedule;
  std::uint64_t done = 0;
  auto goes_on = [&] {
    result.interrupted = request.goes_on && !request.goes_on({"cases", done, count,
                                                              std::uint64_t(result.total.failed)});
    return !result.interrupted;
  };
  auto run = [&](std::uint64_t i) { return report_of(files.cases[i], request.options); };
  auto take = [&](std::uint64_t i, const CaseReport& report) {
    const RecordedCase& recorded = files.cases[i];
    ++done;
    fold(data, report.data_hash());
    fold(schedule, report.schedule_hash());
    VerifyResult::Count& of_kind = result.by_kind[recorded.kind()];
    ++(report.failed() ? result.total.failed : result.total.passed);
    ++(report.failed() ? of_kind.failed : of_kind.passed);
    if (!report.failed()) {
      if (report.cheaper()) result.cheaper.push_back({recorded.id(), *report.cheaper()});
      result.beyond += report.is_beyond();
      return true;
    }
    result.failures.push_back({recorded.id(), recorded.place(), report.mismatches(),
                               report.mismatch_count(), reproduce_line(recorded, request.options)});
    return !request.fail_fast;
  };
  run_ordered<CaseReport>(
      {.count = count, .threads = request.jobs, .goes_on = goes_on}, [&] { return run; }, take);
  if (data) result.data_hash = data->value();
  if (schedule) result.schedule_hash = schedule->value();
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
