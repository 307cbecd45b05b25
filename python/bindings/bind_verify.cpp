#include <fmt/format.h>
#include <map>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "python/bindings/casts/path_list.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run_words.h"
#include "verify/verify.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// The values go through JSON's text, as they do on a command line.
std::vector<CaseFilter::Condition> conditions_of(const nb::dict& where) {
  std::vector<CaseFilter::Condition> conditions;
  nb::object dumps = nb::module_::import_("json").attr("dumps");
  for (auto [field, value] : where)
    conditions.push_back(CaseFilter::parse_where(
        fmt::format("{}={}", nb::cast<std::string>(field), nb::cast<std::string>(dumps(value)))));
  return conditions;
}

std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_kind(const VerifyResult& result) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> counts;
  for (const auto& [kind, count] : result.by_kind) counts[kind] = {count.passed, count.failed};
  return counts;
}

void bind_failed_case(nb::module_& module) {
  nb::class_<FailedCase>(module, "FailedCase", "A recorded case that did not hold.")
      .def_ro("id", &FailedCase::id, "The case's id.")
      .def_prop_ro(
          "place", [](const FailedCase& failed) { return to_string(failed.place); },
          "File and line of the case.")
      .def_ro("mismatches", &FailedCase::mismatches, "What was wrong: the first few.")
      .def_ro("mismatch_count", &FailedCase::mismatch_count, "How many mismatches there were.")
      .def_ro("reproduce", &FailedCase::reproduce, "The command line that runs this case.")
      .def("__repr__", [](const FailedCase& failed) { return "<FailedCase " + failed.id + ">"; });
}

void bind_result(nb::module_& module) {
  nb::class_<VerifyResult>(module, "Verification",
                           "What came of recorded cases. str() is what `simmesh verify` prints.")
      .def_prop_ro(
          "passed", [](const VerifyResult& result) { return result.total.passed; },
          "The number of cases that hold.")
      .def_prop_ro(
          "failed", [](const VerifyResult& result) { return result.total.failed; },
          "The number of cases that don't.")
      .def_prop_ro("ok", &VerifyResult::ok, "Whether all cases hold.")
      .def_prop_ro("by_kind", &by_kind, "How many passed and failed, by kind.")
      .def_ro("failures", &VerifyResult::failures, "The cases that don't hold.")
      .def_ro("data_hash", &VerifyResult::data_hash, "Over the data of all cases, in order.")
      .def_ro("schedule_hash", &VerifyResult::schedule_hash, "Over all schedules, in order.")
      .def("__str__", [](const VerifyResult& result) { return to_text(result); })
      .def("__repr__", [](const VerifyResult& result) {
        return fmt::format("<{} passed, {} failed>", result.total.passed, result.total.failed);
      });
}

}  // namespace

void bind_verify(nb::module_& module) {
  bind_failed_case(module);
  bind_result(module);
  module.def(
      "verify",
      [](const PathList& paths, const std::optional<NameList>& kind, const nb::dict& where,
         const std::string& id, std::optional<std::int64_t> limit, bool fail_fast, std::size_t jobs,
         std::uint64_t seed, const std::string& schedule, std::int64_t threads,
         const std::optional<std::string>& arithmetic, const std::optional<std::string>& release,
         double timeout, const std::string& trace) {
        VerifyRequest request{.paths = texts_of(paths), .fail_fast = fail_fast, .jobs = jobs};
        if (kind) request.filter.kinds = names_of(*kind);
        request.filter.where = conditions_of(where);
        request.filter.id = id;
        if (limit) request.limit = *limit;
        request.options = words_of({seed, schedule, threads, arithmetic, release, timeout, trace});
        return interruptible([&] { return verify(request); });
      },
      "paths"_a, nb::kw_only(), "kind"_a = nb::none(), "where"_a = nb::dict(), "id"_a = "",
      "limit"_a = nb::none(), "fail_fast"_a = false, "jobs"_a = 1, "seed"_a = 0,
      "schedule"_a = "fifo", "threads"_a = 1, "arithmetic"_a = nb::none(), "release"_a = nb::none(),
      "timeout"_a = 60.0, "trace"_a = "",
      "Runs recorded cases in files and folders and compares the results.\n\n"
      "    verify(\"tests/cases/pytorch\", kind=\"redistribute\", where={\"tensor.dtype\": "
      "\"float32\"})\n\n"
      "kind is one kind or several; where has the values that fields at dotted paths must have; id "
      "is a\nglob; limit is the number of cases, at most. Raises ValueError for input that can't "
      "be "
      "read. Other\nthreads run meanwhile, and Ctrl-C ends it.");
}

}  // namespace simmesh::python
