#include "replay/record/op_words.h"

#include <algorithm>
#include <fmt/format.h>

#include "core/check/join_text.h"
#include "replay/record/dtype_words.h"
#include "replay/record/json_words.h"

namespace simmesh::replay {

namespace {

template <class... Cases>
struct Visitor : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Visitor(Cases...) -> Visitor<Cases...>;

std::string_view schema_type(const AttributeValue& value) {
  return std::visit(Visitor{[](bool) { return std::string_view("bool"); },
                            [](std::int64_t) { return std::string_view("int"); },
                            [](double) { return std::string_view("float"); },
                            [](DType) { return std::string_view("ScalarType"); },
                            [](const Dims&) { return std::string_view("int[]"); },
                            [](const std::string&) { return std::string_view("str"); }},
                    value);
}

std::string results_of(std::size_t count, std::string_view type) {
  if (count == 1) return std::string(type);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", type);
  return fmt::format("({})", text);
}

RecordedArgument list_argument(const Dims& dims) {
  std::string types;
  for (std::size_t i = 0; i < dims.size(); ++i) types += i > 0 ? ",Int" : "Int";
  return {fmt::format("GenericList[{}]", types), fmt::format("[{}]", join_text(dims, ","))};
}

}  // namespace

std::string recorded_name(const OpCall& call) {
  std::string name = call.op.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  if (call.destination == Destination::in_place && !name.ends_with('_')) name += '_';
  return name.find("::") == std::string::npos ? "aten::" + name : name;
}

std::string schema_of(const OpCall& call, std::size_t results) {
  std::string text = recorded_name(call);
  if (call.destination == Destination::out) text += ".out";
  text += '(';
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    bool is_written = i == 0 && call.destination == Destination::in_place;
    std::string_view type =
        is_written ? "Tensor(a!)" : (call.inputs[i].is_defined() ? "Tensor" : "Tensor?");
    text += fmt::format("{}{} input{}", i > 0 ? ", " : "", type, i);
  }
  bool is_first = true;
  for (const auto& [name, value] : call.attributes) {
    std::string_view separator = !is_first ? ", " : (call.inputs.empty() ? "*, " : ", *, ");
    text += fmt::format("{}{} {}", separator, schema_type(value), name);
    is_first = false;
  }
  bool writes = call.destination != Destination::fresh;
  return text + ") -> " + results_of(results, writes ? "Tensor(a!)" : "Tensor");
}

std::string recorded_name(const TensorLaunch& kernel) {
  std::string name = kernel.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return "simmesh::" + name;
}

std::string schema_of(const TensorLaunch& kernel) {
  std::string text = recorded_name(kernel) + "(";
  for (std::size_t i = 0; i < kernel.reads.size(); ++i)
    text += fmt::format("{}Tensor input{}", i > 0 ? ", " : "", i);
  return text + ") -> " + results_of(kernel.writes.size(), "Tensor");
}

RecordedArgument recorded_argument(const AttributeValue& value) {
  return std::visit(Visitor{[](bool flag) {
                              return RecordedArgument{"Bool", flag ? "true" : "false"};
                            },
                            [](std::int64_t number) {
                              return RecordedArgument{"Int", std::to_string(number)};
                            },
                            [](double number) {
                              return RecordedArgument{"Double", json_number(number)};
                            },
                            [](DType dtype) {
                              return RecordedArgument{"Int", std::to_string(scalar_type(dtype))};
                            },
                            [](const Dims& dims) { return list_argument(dims); },
                            [](const std::string& text) {
                              return RecordedArgument{"String", json_text(text)};
                            }},
                    value);
}

}  // namespace simmesh::replay
