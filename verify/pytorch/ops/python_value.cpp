#include "verify/pytorch/ops/python_value.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace simmesh {

namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

void append_flat(std::vector<PythonValue>& result, const PythonValue& value) {
  if (const auto* list = value.find<PythonValue::List>())
    for (const PythonValue& entry : *list) append_flat(result, entry);
  else
    result.push_back(value);
}

std::optional<double> spelled_number(const std::string& text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace

std::optional<Number> PythonValue::as_number() const {
  if (const bool* value = find<bool>()) return Number(*value);
  if (const auto* value = find<std::int64_t>()) return Number(*value);
  if (const double* value = find<double>()) return Number(*value);
  if (const auto* value = find<std::string>())
    if (auto number = spelled_number(*value)) return Number(*number);
  return std::nullopt;
}

PythonValue PythonValue::with_inputs(gsl::span<const Tensor> tensors) const {
  if (const auto* input = find<Input>()) return tensors[input->index];
  const auto* list = find<List>();
  if (!list) return *this;
  List given;
  for (const PythonValue& entry : *list) given.push_back(entry.with_inputs(tensors));
  return given;
}

std::vector<std::size_t> PythonValue::inputs() const {
  std::vector<std::size_t> indices;
  for (const PythonValue& entry : flat(*this))
    if (const auto* input = entry.find<Input>()) indices.push_back(input->index);
  return indices;
}

std::string PythonValue::type_name() const {
  return std::visit(Overloaded{[](std::monostate) -> std::string { return "None"; },
                               [](bool) -> std::string { return "bool"; },
                               [](std::int64_t) -> std::string { return "int"; },
                               [](double) -> std::string { return "float"; },
                               [](const std::string&) -> std::string { return "str"; },
                               [](DType) -> std::string { return "dtype"; },
                               [](const Tensor&) -> std::string { return "Tensor"; },
                               [](Input) -> std::string { return "Tensor"; },
                               [](const List& list) {
                                 return list.empty()
                                            ? std::string("empty list")
                                            : fmt::format("list of {}", list.front().type_name());
                               }},
                    value_);
}

PythonValue read_python_value(const CaseField& field, std::size_t input_count) {
  if (field.is_null()) return {};
  if (field.is_boolean()) return field.boolean();
  if (field.is_integer()) return field.integer();
  if (field.is_number()) return field.number();
  if (field.is_text()) return field.text();
  if (field.is_list()) {
    PythonValue::List list;
    for (const CaseField& entry : field.items())
      list.push_back(read_python_value(entry, input_count));
    return list;
  }
  if (auto input = field.find("input"))
    return PythonValue(PythonValue::Input{
        std::size_t(input->integer({.min = 0, .max = std::int64_t(input_count) - 1}))});
  return dtype_from_string(field["dtype"].text());
}

Schema python_value_schema() {
  using namespace schema;
  return named("Python value", [] {
    Schema dtype =
        word({"float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"});
    return either({null(), flag(), number(), any_text(), list(python_value_schema()),
                   object({required("input", integer({.min = 0}))}),
                   object({required("dtype", std::move(dtype))})});
  });
}

std::vector<PythonValue> flat(const PythonValue& value) {
  std::vector<PythonValue> result;
  append_flat(result, value);
  return result;
}

}  // namespace simmesh
