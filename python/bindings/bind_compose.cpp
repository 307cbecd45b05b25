#include <filesystem>
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "gate/compose/compose.h"
#include "gate/compose/compose_report.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run_words.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Ranks = std::variant<std::int64_t, std::pair<std::int64_t, std::int64_t>>;

RanksRange range_of(const Ranks& ranks) {
  RanksRange range;
  if (const auto* one = std::get_if<std::int64_t>(&ranks))
    range = {*one, *one};
  else
    range = {std::get<1>(ranks).first, std::get<1>(ranks).second};
  if (range.min < 1 || range.max < range.min || range.max > 4096)
    throw nb::value_error(
        fmt::format("expected numbers of ranks from 1 to 4096, got {} to {}", range.min, range.max)
            .c_str());
  return range;
}

void bind_layout(nb::module_& module) {
  nb::class_<LayoutResult>(module, "LayoutResult", "What came of one layout of a model.")
      .def_ro("name", &LayoutResult::name,
              "The forms with their numbers of ranks: \"fsdp=2+tensor=2:sequence\".")
      .def_ro("forms", &LayoutResult::forms, "The forms of parallelism.")
      .def_ro("ranks", &LayoutResult::ranks, "The number of ranks.")
      .def_prop_ro("passed", &LayoutResult::passed, "Whether it has the bits of one device.")
      .def_ro("tensors", &LayoutResult::tensors, "How many tensors each rank compared.")
      .def_ro("peak_bytes", &LayoutResult::peak_bytes, "Simulated, of the rank that held the most.")
      .def_ro("failure", &LayoutResult::failure, "Why it didn't end; empty if it did.")
      .def_prop_ro(
          "difference",
          [](const LayoutResult& result) -> std::optional<std::string> {
            if (!result.difference) return std::nullopt;
            return fmt::format("{}: expected {}, got {}", result.difference->where,
                               result.difference->expected, result.difference->actual);
          },
          "The first result that differs; None if none does.")
      .def_ro("first", &LayoutResult::first,
              "The op or gradient that differs first, of a layout that no smaller one explains.")
      .def_ro("smallest", &LayoutResult::smallest,
              "The smallest failing layout whose forms this one has, too; empty if it passed.")
      .def("__repr__", [](const LayoutResult& result) {
        return fmt::format("<{} {}>", result.passed() ? "pass" : "FAIL", result.name);
      });
}

void bind_composition(nb::module_& module) {
  nb::class_<Composition>(module, "Composition",
                          "What came of all layouts of a model. str() is what `simmesh compose` "
                          "prints.")
      .def_ro("file", &Composition::file, "The model file.")
      .def_ro("title", &Composition::title, "Its title.")
      .def_ro("losses", &Composition::losses, "The loss of each step on one device.")
      .def_ro("layouts", &Composition::layouts, "Each layout, those with fewer ranks first.")
      .def_prop_ro(
          "left_out",
          [](const Composition& found) {
            std::vector<std::pair<std::string, std::string>> pairs;
            for (const Misfit& misfit : found.misfits)
              pairs.emplace_back(misfit.name, misfit.reason);
            return pairs;
          },
          "The names of the layouts that don't fit the model, each with the reason.")
      .def_prop_ro("passed", &Composition::passed,
                   "The number of layouts that have the bits of one "
                   "device.")
      .def_prop_ro("failed", &Composition::failed, "The number of those that don't.")
      .def_prop_ro(
          "ok", [](const Composition& found) { return found.failed() == 0; },
          "Whether all layouts have the bits of one device.")
      .def_prop_ro(
          "reproduce", &Composition::reproduce,
          "The command line that repeats the smallest failing layout; empty if none fails.")
      .def(
          "to_json", [](const Composition& found) { return to_json(found); },
          "Returns what `simmesh compose --json` prints.")
      .def(
          "to_html", [](const Composition& found) { return to_html(found); },
          "Returns the page of `simmesh compose --html`.")
      .def("__str__", [](const Composition& found) { return to_text(found); })
      .def("__repr__", [](const Composition& found) {
        return fmt::format("<{}: {} passed, {} failed>", found.file, found.passed(),
                           found.failed());
      });
}

}  // namespace

void bind_compose(nb::module_& module) {
  bind_layout(module);
  bind_composition(module);
  module.def(
      "compose",
      [](const std::filesystem::path& path, const Ranks& ranks,
         const std::vector<std::string>& only, const std::vector<std::string>& without,
         const std::string& layout, const std::vector<std::string>& inject, std::int64_t sample,
         std::int64_t jobs, std::uint64_t seed, const std::string& schedule, std::int64_t threads,
         const std::optional<std::string>& arithmetic, const std::optional<std::string>& release,
         double timeout) {
        RunWords words = words_of({seed, schedule, threads, arithmetic, release, timeout, ""});
        ComposeRequest request{.ranks = range_of(ranks),
                               .only = only,
                               .without = without,
                               .layout = layout,
                               .sample = std::max<std::int64_t>(sample, 0),
                               .jobs = std::size_t(std::max<std::int64_t>(jobs, 1))};
        for (const std::string& fault : inject)
          request.faults.push_back(parse_injected_fault(fault));
        check_forms(request);
        GateFile gate = read_compose_model(path.string());
        return interruptible([&] { return compose(gate, words, request); });
      },
      "path"_a, nb::kw_only(), "ranks"_a = Ranks(std::pair<std::int64_t, std::int64_t>(2, 16)),
      "only"_a = std::vector<std::string>(), "without"_a = std::vector<std::string>(),
      "layout"_a = "", "inject"_a = std::vector<std::string>(), "sample"_a = 0, "jobs"_a = 1,
      "seed"_a = 0, "schedule"_a = "fifo", "threads"_a = 1, "arithmetic"_a = nb::none(),
      "release"_a = nb::none(), "timeout"_a = 60.0,
      "Trains the model of a gate file in every layout that fits numbers of ranks, each with the "
      "bits "
      "of one\ndevice.\n\n"
      "    compose(\"model.toml\", ranks=(2, 8), without=[\"zero3\"]).failed\n\n"
      "ranks is one number, or the first and the last one. sample takes only so many layouts, "
      "spread "
      "evenly.\nRaises ValueError for a file that can't "
      "be "
      "read\nand where no layout fits. Other threads run meanwhile, and Ctrl-C ends it.");
}

}  // namespace simmesh::python
