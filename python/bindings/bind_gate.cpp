#include <filesystem>
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "gate/explain.h"
#include "gate/report.h"
#include "gate/run_gate.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "python/bindings/run_words.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

void bind_parts(nb::module_& module) {
  nb::class_<GateCheck>(module, "GateCheck", "One thing that must hold for a gate.")
      .def_ro("name", &GateCheck::name, "What is checked.")
      .def_ro("passed", &GateCheck::passed, "Whether it holds.")
      .def_ro("expected", &GateCheck::expected, "What must come.")
      .def_ro("actual", &GateCheck::actual, "What came.")
      .def("__repr__", [](const GateCheck& check) {
        return fmt::format("<{} {}>", check.passed ? "pass" : "FAIL", check.name);
      });
  nb::class_<DeviceFigures>(module, "DeviceFigures",
                            "Figures of the simulated devices, each for the rank where it is "
                            "largest.")
      .def_ro("makespan_us", &DeviceFigures::makespan_us, "The time of the whole run.")
      .def_ro("exposed_communication_us", &DeviceFigures::exposed_communication_us,
              "The time in which a device only communicates.")
      .def_ro("reserved_bytes", &DeviceFigures::reserved_bytes,
              "What the caching allocator holds.");
}

void bind_result(nb::module_& module) {
  nb::class_<GateResult>(module, "GateResult",
                         "What came of a gate. str() is what `simmesh run` prints.")
      .def_ro("file", &GateResult::file, "The gate file.")
      .def_ro("title", &GateResult::title, "The gate's title.")
      .def_ro("checks", &GateResult::checks, "All that must hold.")
      .def_prop_ro("passed", &GateResult::passed, "The number of checks that hold.")
      .def_prop_ro("failed", &GateResult::failed, "The number of checks that don't.")
      .def_prop_ro(
          "ok", [](const GateResult& result) { return result.failed() == 0; },
          "Whether all checks hold.")
      .def_ro("data_hash", &GateResult::data_hash, "Over all results of all ranks.")
      .def_ro("schedule_hash", &GateResult::schedule_hash, "Over the order in which ranks ran.")
      .def_ro("peak_bytes", &GateResult::peak_bytes, "Simulated, of the rank that held the most.")
      .def_ro("physical_peak_bytes", &GateResult::physical_peak_bytes,
              "What the process used for buffers; None with several threads or without data.")
      .def_ro("collectives", &GateResult::collectives, "The calls of each collective, a rank.")
      .def_ro("losses", &GateResult::losses, "The loss of each step.")
      .def_ro("device", &GateResult::device, "Of a gate with a device; else None.")
      .def_ro("failure", &GateResult::failure,
              "The report of the first run that failed; empty if none did.")
      .def_ro("reproduce", &GateResult::reproduce, "The command line that reproduces a failure.")
      .def(
          "__str__",
          [](const GateResult& result) { return to_text(gsl::span<const GateResult>(&result, 1)); })
      .def("__repr__", [](const GateResult& result) {
        return fmt::format("<{}: {} passed, {} failed>", result.file, result.passed(),
                           result.failed());
      });
}

}  // namespace

void bind_gate(nb::module_& module) {
  bind_parts(module);
  bind_result(module);
  module.def(
      "run_gate",
      [](const std::filesystem::path& path, std::uint64_t seed, const std::string& schedule,
         std::int64_t threads, const std::optional<std::string>& arithmetic,
         const std::optional<std::string>& release, double timeout, const std::string& trace) {
        RunWords words = words_of({seed, schedule, threads, arithmetic, release, timeout, trace});
        GateFile gate = read_gate(path.string());
        expect_checks(gate);
        return interruptible([&] { return run_gate(gate, words); });
      },
      "path"_a, nb::kw_only(), "seed"_a = 0, "schedule"_a = "fifo", "threads"_a = 1,
      "arithmetic"_a = nb::none(), "release"_a = nb::none(), "timeout"_a = 60.0, "trace"_a = "",
      "Runs a gate file and makes all its checks.\n\n"
      "    run_gate(\"examples/gates/zero3.toml\").losses\n\n"
      "Without an arithmetic or a release the gate's own count. Raises ValueError for a file that "
      "can't be\nread or says nothing to check. Other threads run meanwhile, and Ctrl-C ends it.");
  module.def(
      "explain_gate",
      [](const std::filesystem::path& path) { return explain(read_gate(path.string())); }, "path"_a,
      "Returns a gate with all defaults as TOML, without running it.");
}

}  // namespace simmesh::python
