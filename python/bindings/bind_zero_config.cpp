#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "zero/config/config_autos.h"
#include "zero/config/hjson.h"
#include "zero/engine/config_report.h"

namespace simmesh::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::string json_text(nb::handle value) {
  return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value));
}

nb::object python_value(const JsonValue& value) {
  return nb::module_::import_("json").attr("loads")(value.text_utf8());
}

// A dict is the configuration; all else is the path of a file.
JsonValue config_of(nb::handle config) {
  if (nb::isinstance<nb::dict>(config)) return JsonValue::parse(json_text(config), "zero/config");
  nb::object path = nb::module_::import_("os").attr("fspath")(config);
  return zero::read_hjson_file(nb::cast<std::string>(path));
}

zero::ConfigReport report_of(nb::handle given, std::int64_t ranks, const nb::dict& values,
                             std::optional<std::int64_t> parameters) {
  zero::AutoValues autos;
  for (auto [name, value] : values)
    zero::read_auto(nb::cast<std::string>(name) + "=" + json_text(value), autos);
  JsonValue config = config_of(given);
  if (config.get<JsonValue::Object>() != nullptr) zero::resolve_autos(config, autos);
  return zero::report_config({.config = config, .ranks = ranks, .parameters = parameters});
}

std::map<std::string, std::string> costs_of(const zero::ConfigReport& report) {
  std::map<std::string, std::string> costs;
  for (const zero::ConfigLine& line : report.lines)
    if (!line.cost.empty()) costs[line.key] = line.cost;
  return costs;
}

nb::dict values_of(const zero::ConfigReport& report) {
  nb::dict values;
  for (const zero::ConfigLine& line : report.lines)
    values[line.key.c_str()] = python_value(line.value);
  return values;
}

}  // namespace

void bind_zero_config(nb::module_& module) {
  using Report = zero::ConfigReport;
  nb::class_<Report>(module, "ZeroConfig",
                     "The meaning of a DeepSpeed configuration. str() is what `simmesh config` "
                     "prints.")
      .def_ro("ranks", &Report::ranks, "The number of ranks.")
      .def_prop_ro(
          "train_batch_size", [](const Report& report) { return report.sizes.train_batch_size; },
          "The rows of a step of the optimizer, on all ranks.")
      .def_prop_ro(
          "train_micro_batch_size_per_gpu",
          [](const Report& report) { return report.sizes.train_micro_batch_size_per_gpu; },
          "The rows of a micro-batch on a rank.")
      .def_prop_ro(
          "gradient_accumulation_steps",
          [](const Report& report) { return report.sizes.gradient_accumulation_steps; },
          "Micro-batches a step of the optimizer.")
      .def_prop_ro("values", &values_of, "Every value that holds, by its key.")
      .def_prop_ro("costs", &costs_of, "What keys cost a rank, by their names.")
      .def_ro("without_effect", &Report::idle, "The keys that change nothing here.")
      .def_ro("unknown", &Report::unknown, "The keys that DeepSpeed doesn't know either.")
      .def("__str__", &Report::to_text)
      .def("__repr__", [](const Report& report) {
        return "<ZeroConfig for " + std::to_string(report.ranks) + " ranks>";
      });
  module.def(
      "zero_config", &report_of, "config"_a, nb::kw_only(), "ranks"_a = 1, "auto"_a = nb::dict(),
      "parameters"_a = nb::none(),
      "Judges a DeepSpeed configuration, a dict or the path of a file, as DeepSpeed does.\n\n"
      "    zero_config(\"ds_config.json\", ranks=8, auto={\"hidden_size\": 4096}).costs\n\n"
      "auto has the values that \"auto\" stands for. parameters is the number of elements\n"
      "of the model's parameters; without it costs are formulas. Raises the exception with\n"
      "which DeepSpeed refuses it, and a ValueError for what simmesh lacks.");
}

}  // namespace simmesh::python
