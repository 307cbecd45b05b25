#include "verify/verify.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>

#include "core/check/bits_hash.h"
#include "core/check/check.h"
#include "core/check/fold_hash.h"
#include "core/check/json_fault.h"
#include "core/check/one_line.h"
#include "core/check/shell_word.h"
#include "core/engine/ordered_jobs.h"
#include "core/engine/spread/world_spread.h"
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
  } catch (const SpreadBroken&) {
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

CaseResult result_of(const RecordedCase& recorded, const CaseReport& report,
                     const VerifyOptions& options) {
  return {.id = recorded.id(),
          .kind = recorded.kind(),
          .place = recorded.place(),
          .mismatches = report.mismatches(),
          .mismatch_count = report.mismatch_count(),
          .reproduce = report.failed() ? reproduce_line(recorded, options) : "",
          .cheaper = report.cheaper(),
          .is_beyond = report.is_beyond(),
          .data_hash = report.data_hash(),
          .schedule_hash = report.schedule_hash()};
}

// JobResult has no result if no job was left.
struct JobResult {
  std::uint64_t job = 0;
  std::optional<CaseResult> result = {};
};

// The shards must have read the same cases.
void keep_about(ShardResults& keeps, const CaseFiles& files, std::uint64_t count, bool fail_fast) {
  FoldHash inputs;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text = files.cases[i].root().value().dump();
    inputs.fold(bits_hash({reinterpret_cast<const std::byte*>(text.data()), text.size()}));
  }
  keeps.inputs = inputs.value();
  keeps.jobs = count;
  keeps.about = JsonValue::object({{"disputed_left_out", files.disputed_left_out}});
  if (fail_fast) keeps.about.set("fail_fast", true);
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
  std::uint64_t all = std::min<std::uint64_t>(files.cases.size(), std::uint64_t(request.limit));
  std::uint64_t count = request.next_job ? all : request.shard.jobs_of(all);
  if (!request.options.trace_file.empty() && count != 1)
    raise(ErrorKind::value_error, "verify", "expected one case to trace, got {}", count);
  // Cases expect errors, which their bodies catch.
  if (WorldSpread* spread = WorldSpread::active()) spread->tell_errors();
  VerifyResult result;
  result.disputed_left_out = files.disputed_left_out;
  if (request.keeps) keep_about(*request.keeps, files, all, request.fail_fast);
  std::uint64_t done = 0;
  auto goes_on = [&] {
    result.interrupted = request.goes_on && !request.goes_on({"cases", done, count,
                                                              std::uint64_t(result.total.failed)});
    return !result.interrupted;
  };
  auto run = [&](std::uint64_t i) {
    std::uint64_t job = request.next_job ? request.next_job(all) : request.shard.job(i);
    if (job >= all) return JobResult();
    const RecordedCase& recorded = files.cases[job];
    return JobResult{job,
                     result_of(recorded, report_of(recorded, request.options), request.options)};
  };
  auto take = [&](std::uint64_t, const JobResult& one) {
    if (!one.result) return false;
    ++done;
    result.add(*one.result);
    if (request.takes) request.takes(*one.result);
    if (request.keeps) request.keeps->results.emplace(one.job, to_json(*one.result));
    return !one.result->failed() || !request.fail_fast;
  };
  run_ordered<JobResult>(
      {.count = count, .threads = request.jobs, .goes_on = goes_on}, [&] { return run; }, take);
  return result;
}

}  // namespace simmesh
