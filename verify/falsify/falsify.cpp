#include "verify/falsify/falsify.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/check/check.h"
#include "core/check/one_line.h"
#include "core/check/shell_word.h"
#include "core/engine/ordered_jobs.h"
#include "verify/case_files.h"
#include "verify/case_kind.h"
#include "verify/falsify/case_changes.h"
#include "verify/verify.h"

namespace simmesh {

namespace {

using nlohmann::json;

// A case, and its place among those of its kind.
struct FalsifiedCase {
  const RecordedCase* recorded;
  const CaseKind* kind;
};

// Returns the cases of known kinds, at most so many of each kind, evenly spread.
std::vector<FalsifiedCase> falsified_cases(const std::vector<RecordedCase>& cases,
                                           std::size_t per_kind) {
  std::map<std::string, std::vector<std::size_t>> by_kind;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (CaseKind::find(cases[i].kind())) by_kind[cases[i].kind()].push_back(i);
  std::vector<std::size_t> indices;
  for (const auto& [kind, list] : by_kind) {
    std::size_t count = std::min(per_kind, list.size());
    for (std::size_t i = 0; i < count; ++i) indices.push_back(list[i * list.size() / count]);
  }
  std::sort(indices.begin(), indices.end());
  std::vector<FalsifiedCase> chosen;
  for (std::size_t i : indices) chosen.push_back({&cases[i], CaseKind::find(cases[i].kind())});
  return chosen;
}

bool passes(const RecordedCase& recorded, const VerifyOptions& options) {
  return !verify_case(recorded, options).failed();
}

std::string reproduce_line(const RecordedCase& recorded, const CaseChange& change) {
  return fmt::format("simmesh falsify {} --id {} --at {}", shell_word(recorded.place().file),
                     shell_word(glob_literal(recorded.id())), shell_word(change.at.to_string()));
}

// Runs a changed case and counts how it ends.
void try_change(const FalsifiedCase& chosen, const CaseChange& change, const VerifyOptions& options,
                FalsifyResult& result) {
  const RecordedCase& recorded = *chosen.recorded;
  ++result.changes;
  std::string defect;
  try {
    if (!passes(recorded.with_value(change.apply(recorded.root().value())), options)) {
      ++result.failed;
      return;
    }
    if (!change.excuse.empty()) {
      ++result.excused;
      ++result.excused_by_place[{recorded.kind(), path_pattern(change.at), change.name,
                                 std::string(change.excuse)}];
      return;
    }
  } catch (const BadCase&) {
    ++result.refused;
    return;
  } catch (const ContractViolation& violation) {
    defect = violation.what();
  }
  result.let_through.push_back({recorded.id(), recorded.kind(), change.at.to_string(), change.name,
                                defect, reproduce_line(recorded, change)});
}

FalsifyResult falsify_case(const FalsifiedCase& chosen, const FalsifyRequest& request) {
  FalsifyResult result;
  const RecordedCase& recorded = *chosen.recorded;
  if (!passes(recorded, request.options)) {
    result.skipped = 1;
    return result;
  }
  result.cases = 1;
  std::vector<CaseChange> changes = case_changes(recorded, *chosen.kind->schema());
  if (!request.at.empty())
    std::erase_if(changes,
                  [&](const CaseChange& change) { return change.at.to_string() != request.at; });
  for (const CaseChange& change :
       sample_changes(std::move(changes), request.sample, request.options.seed))
    try_change(chosen, change, request.options, result);
  return result;
}

void add(FalsifyResult& total, const FalsifyResult& one) {
  total.cases += one.cases;
  total.skipped += one.skipped;
  total.changes += one.changes;
  total.failed += one.failed;
  total.refused += one.refused;
  total.excused += one.excused;
  for (const auto& [place, count] : one.excused_by_place) total.excused_by_place[place] += count;
  total.let_through.insert(total.let_through.end(), one.let_through.begin(), one.let_through.end());
}

std::string last_line(const FalsifyResult& result) {
  return fmt::format("{} changes: {} failed, {} refused, {} may pass, {} let through\n",
                     result.changes, result.failed, result.refused, result.excused,
                     result.let_through.size());
}

}  // namespace

FalsifyResult falsify(const FalsifyRequest& request) {
  CaseFiles files = load_cases(request.paths, [&](const RecordedCase& recorded) {
    return request.filter.matches(recorded);
  });
  std::vector<FalsifiedCase> cases = falsified_cases(files.cases, request.cases_per_kind);
  FalsifyResult result;
  std::uint64_t done = 0, count = cases.size();
  auto goes_on = [&] {
    result.interrupted =
        request.goes_on &&
        !request.goes_on({"cases", done, count, std::uint64_t(result.let_through.size())});
    return !result.interrupted;
  };
  auto run = [&](std::uint64_t i) { return falsify_case(cases[i], request); };
  auto take = [&](std::uint64_t, const FalsifyResult& one) {
    ++done;
    add(result, one);
    return true;
  };
  run_ordered<FalsifyResult>(
      {.count = count, .threads = request.jobs, .goes_on = goes_on}, [&] { return run; }, take);
  return result;
}

std::string to_text(const FalsifyResult& result, const FalsifyTextOptions& options) {
  if (options.quiet) return last_line(result);
  std::string text;
  for (const LetThrough& one : result.let_through) {
    text += fmt::format("PASS {} {}: {}: {}\n", one.kind, one_line(one.id), one_line(one.at),
                        one.change);
    if (!one.defect.empty()) text += fmt::format("  a defect of simmesh: {}\n", one.defect);
    text += fmt::format("reproduce: {}\n", one.reproduce);
  }
  for (const auto& [place, count] : result.excused_by_place)
    text += fmt::format("{} {}: {} ({}): {}\n", place.kind, place.pattern, place.change, count,
                        place.reason);
  text += fmt::format("{} cases\n", result.cases);
  if (result.skipped > 0)
    text += fmt::format("{} cases that don't pass left out\n", result.skipped);
  return text + last_line(result);
}

std::string to_json(const FalsifyResult& result) {
  using Json = nlohmann::ordered_json;
  Json let_through = Json::array(), excused = Json::array();
  for (const LetThrough& one : result.let_through) {
    Json entry = {{"kind", one.kind},
                  {"id", one.id},
                  {"at", one.at},
                  {"change", one.change},
                  {"reproduce", one.reproduce}};
    if (!one.defect.empty()) entry["defect"] = one.defect;
    let_through.push_back(std::move(entry));
  }
  for (const auto& [place, count] : result.excused_by_place)
    excused.push_back({{"kind", place.kind},
                       {"at", place.pattern},
                       {"change", place.change},
                       {"reason", place.reason},
                       {"count", count}});
  Json all = {{"cases", result.cases},     {"left_out", result.skipped},
              {"changes", result.changes}, {"failed", result.failed},
              {"refused", result.refused}, {"may_pass", result.excused}};
  if (result.interrupted) all["interrupted"] = true;
  all["excused"] = std::move(excused);
  all["let_through"] = std::move(let_through);
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace simmesh
