#include <algorithm>
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <thread>

#include "python/bindings/bindings.h"
#include "python/bindings/casts/path_list.h"
#include "python/bindings/interruptible.h"
#include "sharding/validate/validate_report.h"
#include "verify/pytorch/ops/rule_files.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// A result and its request, which its text also shows.
struct OpsValidation {
  ValidateRequest request;
  ValidateResult result;
};
struct TablesValidation {
  RuleFilesRequest request;
  RuleFilesResult result;
};

// The last line that the command prints, for a repr.
std::string in_brackets(std::string_view line) {
  return fmt::format("<{}>", line.substr(0, line.find('\n')));
}

void bind_verdicts(nb::module_& module) {
  nb::class_<CounterExample>(module, "CounterExample", "The smallest trial that refutes a rule.")
      .def_ro("mesh", &CounterExample::mesh, "The sizes of the mesh: \"2x2\".")
      .def_ro("inputs", &CounterExample::inputs, "\"float64[3, 5] S(0), ...\".")
      .def_ro("what", &CounterExample::what, "What differs.");
  nb::class_<RuleVerdict>(module, "RuleVerdict", "What came of one claimed rule.")
      .def_ro("trials", &RuleVerdict::trials, "On how many sizes and data it was tried.")
      .def_ro("has_gradient", &RuleVerdict::has_gradient, "Whether gradients were compared.")
      .def_ro("wrong", &RuleVerdict::wrong, "A trial in which it doesn't hold; None if it holds.");
  nb::class_<SampleVerdict>(module, "SampleVerdict", "What came of one sample call of an op.")
      .def_ro("call", &SampleVerdict::call, "\"sum(ab; dims=[1], keepdim=true)\".")
      .def_ro("rules", &SampleVerdict::rules, "The verdict on each claimed rule, by its text.")
      .def_ro("over_two_dims", &SampleVerdict::over_two_dims,
              "Rules of two mesh dims together that don't hold.")
      .def_ro("missing", &SampleVerdict::missing, "Rules that hold and that nobody claims.")
      .def_ro("trials", &SampleVerdict::trials, "On how many sizes and data it was run.");
  nb::class_<OpVerdict>(module, "OpVerdict", "What came of an op.")
      .def_ro("op", &OpVerdict::op, "The op's name.")
      .def_prop_ro(
          "way", [](const OpVerdict& verdict) { return std::string(to_string(verdict.way)); },
          "How it runs on distributed tensors: by rules, over the mesh, as other ops, replicated.")
      .def_ro("samples", &OpVerdict::samples, "The verdict on each of its sample calls.")
      .def("__repr__", [](const OpVerdict& verdict) { return "<OpVerdict " + verdict.op + ">"; });
}

void bind_ops_validation(nb::module_& module) {
  nb::class_<OpsValidation>(module, "Validation",
                            "What came of ops' sharding rules. str() is what `simmesh validate` "
                            "prints.")
      .def_prop_ro(
          "ops", [](const OpsValidation& of) { return of.result.ops; }, "The verdict on each op.")
      .def_prop_ro(
          "rules", [](const OpsValidation& of) { return of.result.counts().rules; },
          "The number of claimed rules, once a sample call.")
      .def_prop_ro(
          "wrong", [](const OpsValidation& of) { return of.result.counts().wrong; },
          "The number of those that don't hold.")
      .def_prop_ro(
          "missing", [](const OpsValidation& of) { return of.result.counts().missing; },
          "The number of rules that hold and that nobody claims.")
      .def_prop_ro(
          "ok", [](const OpsValidation& of) { return of.result.ok(); }, "Whether none is wrong.")
      .def("__str__", [](const OpsValidation& of) { return to_text(of.result, of.request, false); })
      .def("__repr__", [](const OpsValidation& of) {
        return in_brackets(to_text(of.result, of.request, true));
      });
}

void bind_tables_validation(nb::module_& module) {
  using Refuted = RuleTableVerdict::Refuted;
  nb::class_<Refuted>(module, "RefutedRule", "A rule of a table that doesn't hold.")
      .def_ro("rule", &Refuted::rule, "\"S(0) -> S(0)\".")
      .def_ro("inputs", &Refuted::inputs, "The trial: \"float32[4, 6] S(0)\".")
      .def_ro("what", &Refuted::what, "What differs.");
  nb::class_<RuleTableVerdict>(module, "RuleTableVerdict", "What came of a table of rules.")
      .def_ro("id", &RuleTableVerdict::id, "The table's id.")
      .def_ro("function", &RuleTableVerdict::function, "The function of PyTorch that it is about.")
      .def_ro("rules", &RuleTableVerdict::rule_count, "The number of its rules.")
      .def_ro("trials", &RuleTableVerdict::trials, "On how many sizes and data they were tried.")
      .def_ro("refuted", &RuleTableVerdict::refuted, "The rules that don't hold.")
      .def_ro("beyond", &RuleTableVerdict::beyond, "Rules of simmesh that the table lacks.");
  nb::class_<TablesValidation>(module, "TableValidation",
                               "What came of tables of rules. str() is what `simmesh validate "
                               "--rules` prints.")
      .def_prop_ro(
          "tables", [](const TablesValidation& of) { return of.result.tables; },
          "The verdict on each table.")
      .def_prop_ro(
          "rules", [](const TablesValidation& of) { return of.result.rule_count(); },
          "The number of their rules.")
      .def_prop_ro(
          "wrong", [](const TablesValidation& of) { return of.result.refuted_count(); },
          "The number of those that don't hold.")
      .def_prop_ro(
          "ok", [](const TablesValidation& of) { return of.result.ok(); }, "Whether none is wrong.")
      .def("__str__", [](const TablesValidation& of) { return to_text(of.result, of.request, {}); })
      .def("__repr__", [](const TablesValidation& of) {
        return in_brackets(to_text(of.result, of.request, {.quiet = true}));
      });
}

std::size_t threads_for(std::size_t jobs) {
  return jobs == 0 ? std::max(1u, std::thread::hardware_concurrency()) : jobs;
}

OpsValidation validate_ops(const std::optional<NameList>& ops, std::uint64_t seed, std::size_t jobs,
                           bool claimed_only) {
  OpsValidation of;
  if (ops) of.request.ops = names_of(*ops);
  of.request.options.seed = seed;
  of.request.options.finds_missing = !claimed_only;
  of.request.jobs = threads_for(jobs);
  of.result = interruptible([&] { return validate(of.request); });
  return of;
}

TablesValidation validate_tables(const PathList& paths, std::uint64_t seed, std::size_t jobs) {
  TablesValidation of{
      .request = {.paths = texts_of(paths), .seed = seed, .jobs = threads_for(jobs)}, .result = {}};
  of.result = interruptible([&] { return judge_rule_files(of.request); });
  return of;
}

}  // namespace

void bind_validate(nb::module_& module) {
  bind_verdicts(module);
  bind_ops_validation(module);
  bind_tables_validation(module);
  module.def("validate", &validate_ops, "ops"_a = nb::none(), nb::kw_only(), "seed"_a = 0,
             "jobs"_a = 0, "claimed_only"_a = false,
             "Judges the sharding rules of ops, one, several or all of them, on crafted pieces.\n\n"
             "    validate(\"matmul\", claimed_only=True)\n\n"
             "jobs is the number of sample calls side by side, 0 for one a core; it changes no "
             "result. With\nclaimed_only no rules are looked for that are missing. Other threads "
             "run meanwhile, and Ctrl-C ends it.");
  module.def("validate_tables", &validate_tables, "paths"_a, nb::kw_only(), "seed"_a = 0,
             "jobs"_a = 0,
             "Judges the tables of rules in files, which somebody else claims of PyTorch's "
             "functions. Raises\nValueError for input that can't be read.");
}

}  // namespace simmesh::python
