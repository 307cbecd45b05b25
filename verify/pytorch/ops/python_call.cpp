#include "verify/pytorch/ops/python_call.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "core/check/check.h"

namespace simmesh {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns the next part before a separator, and takes both off the text.
std::string_view take_until(std::string_view& text, char separator) {
  std::size_t end = std::min(text.find(separator), text.size());
  std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(part);
}

PythonValue parse_default(std::string_view text) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return text == "True";
  if (text == "[]") return PythonValue::List();
  if (text.starts_with('\'')) return std::string(text.substr(1, text.size() - 2));
  const char* end = text.data() + text.size();
  std::int64_t integer = 0;
  if (auto [stop, fault] = std::from_chars(text.data(), end, integer);
      fault == std::errc() && stop == end)
    return integer;
  double number = 0;
  auto [stop, fault] = std::from_chars(text.data(), end, number);
  SIMMESH_CHECK(fault == std::errc() && stop == end, "no default of a parameter: {}", text);
  return number;
}

bool fits_one(std::string_view type, const PythonValue& value) {
  if (type == "Tensor") return value.find<Tensor>() != nullptr;
  if (type == "bool") return value.find<bool>() != nullptr;
  if (type == "int") return value.find<std::int64_t>() != nullptr;
  if (type == "float") return value.as_number() && !value.find<bool>();
  if (type == "Scalar") return value.as_number().has_value();
  if (type == "str") return value.find<std::string>() != nullptr;
  if (type == "dtype") return value.find<DType>() != nullptr;
  SIMMESH_CHECK(false, "no type of a parameter: {}", type);
}

// True if a value has a type. T? may be None, T[] is a list.
bool fits(std::string_view type, const PythonValue& value) {
  for (std::string_view rest = type; !rest.empty();) {
    std::string_view one = take_until(rest, '|');
    if (one.ends_with('?')) {
      if (value.is_none()) return true;
      one.remove_suffix(1);
    }
    if (!one.ends_with("[]")) {
      if (fits_one(one, value)) return true;
      continue;
    }
    one.remove_suffix(2);
    const auto* list = value.find<PythonValue::List>();
    if (!list && one == "int" && fits_one(one, value)) return true;
    if (list && std::all_of(list->begin(), list->end(),
                            [&](const PythonValue& entry) { return fits(one, entry); }))
      return true;
  }
  return false;
}

// True for dims, indices and bounds. They are no sizes, and may have any value.
bool names_place(std::string_view parameter) {
  for (std::string_view name : {"dim", "dims", "dim0", "dim1", "dim2", "start", "end", "index",
                                "start_dim", "end_dim", "offset", "diagonal", "storage_offset",
                                "shifts", "ignore_index", "padding_idx", "source", "destination"})
    if (parameter == name) return true;
  return false;
}

bool all_integers(gsl::span<const PythonValue> values) {
  return std::all_of(values.begin(), values.end(),
                     [](const PythonValue& value) { return value.find<std::int64_t>(); });
}

}  // namespace

PythonSignature::PythonSignature(std::string_view text) {
  bool by_name_only = false;
  while (!text.empty()) {
    std::string_view part = take_until(text, ',');
    if (part == "*") {
      by_name_only = true;
      continue;
    }
    std::string_view type = take_until(part, ' ');
    std::string_view name = take_until(part, '=');
    Parameter parameter{.type = std::string(type),
                        .name = std::string(name),
                        .otherwise = {},
                        .by_name_only = by_name_only};
    if (!part.empty()) parameter.otherwise = parse_default(part);
    SIMMESH_CHECK(!name.empty(), "a parameter without a name: {}", type);
    parameters_.push_back(std::move(parameter));
  }
}

const PythonSignature::Parameter* PythonSignature::find(std::string_view name) const {
  if (name == "input" && !parameters_.empty() && parameters_[0].name == "self") name = "self";
  auto found = std::find_if(parameters_.begin(), parameters_.end(),
                            [&](const Parameter& one) { return one.name == name; });
  return found == parameters_.end() ? nullptr : &*found;
}

std::size_t PythonSignature::index_of(std::string_view name) const {
  const Parameter* parameter = find(name);
  SIMMESH_CHECK(parameter, "no parameter {}", name);
  return std::size_t(parameter - parameters_.data());
}

// Ints that are given one by one are one list.
std::vector<PythonValue> PythonSignature::gathered(const PythonArguments& arguments) const {
  const auto& given = arguments.positional;
  std::size_t last = 0;
  while (last < parameters_.size() && !parameters_[last].by_name_only) ++last;
  for (std::size_t i = 0; i < std::min(last, given.size()); ++i)
    if (parameters_[i].type.starts_with("int[]") && given.size() > i + 1 &&
        all_integers(gsl::span(given).subspan(i)) && given.size() > last) {
      std::vector<PythonValue> result(given.begin(), given.begin() + std::ptrdiff_t(i));
      result.emplace_back(PythonValue::List(given.begin() + std::ptrdiff_t(i), given.end()));
      return result;
    }
  return given;
}

std::vector<PythonValue> PythonSignature::bind(const PythonArguments& arguments,
                                               std::string& why) const {
  std::vector<PythonValue> positional = gathered(arguments);
  std::vector<std::optional<PythonValue>> given(parameters_.size());
  for (std::size_t i = 0; i < positional.size(); ++i) {
    if (i >= parameters_.size() || parameters_[i].by_name_only) {
      why = fmt::format("expected at most {} positional arguments, got {}", i, positional.size());
      return {};
    }
    given[i] = positional[i];
  }
  for (const auto& [name, value] : arguments.keywords) {
    const Parameter* parameter = find(name);
    if (!parameter || given[std::size_t(parameter - parameters_.data())]) {
      why = fmt::format("{} argument '{}'", parameter ? "twice the" : "no known", name);
      return {};
    }
    given[std::size_t(parameter - parameters_.data())] = value;
  }
  std::vector<PythonValue> values;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (!given[i] && !parameter.otherwise) {
      why = fmt::format("missing argument '{}'", parameter.name);
      return {};
    }
    if (given[i] && !fits(parameter.type, *given[i])) {
      why = fmt::format("argument '{}' (position {}) must be {}, not {}", parameter.name, i + 1,
                        parameter.type, given[i]->type_name());
      return {};
    }
    values.push_back(given[i] ? *given[i] : *parameter.otherwise);
  }
  return values;
}

double PythonSignature::largest_factor(gsl::span<const PythonValue> values) const {
  double factor = 1;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (names_place(parameter.name)) continue;
    bool is_factor = parameter.name == "scale_factor";
    if (parameter.type.find("int") == std::string::npos && !is_factor) continue;
    for (const PythonValue& entry : flat(values[i]))
      if (auto number = entry.as_number()) {
        double size = std::fabs(number->as<double>());
        // Images grow along up to three dims.
        factor *= std::max(1.0, is_factor ? size * size * size : size);
      }
  }
  return factor;
}

Tensor PythonCall::tensor(std::string_view name) const {
  const Tensor* tensor = value(name).find<Tensor>();
  return tensor ? *tensor : Tensor();
}

Tensor& PythonCall::target(std::string_view name) {
  return *values_[signature_.index_of(name)].find<Tensor>();
}

std::vector<Tensor> PythonCall::tensors(std::string_view name) const {
  std::vector<Tensor> tensors;
  for (const PythonValue& entry : *value(name).find<PythonValue::List>())
    tensors.push_back(entry.is_none() ? Tensor() : *entry.find<Tensor>());
  return tensors;
}

std::vector<PythonValue> PythonCall::entries(std::string_view name) const {
  const auto* list = value(name).find<PythonValue::List>();
  return list ? *list : PythonValue::List();
}

Number PythonCall::number(std::string_view name) const { return *value(name).as_number(); }

std::optional<Number> PythonCall::number_if(std::string_view name) const {
  return value(name).as_number();
}

std::optional<std::int64_t> PythonCall::integer_if(std::string_view name) const {
  auto number = number_if(name);
  if (!number) return std::nullopt;
  return number->as<std::int64_t>();
}

bool PythonCall::flag(std::string_view name) const { return *value(name).find<bool>(); }

std::string PythonCall::text(std::string_view name) const {
  return *value(name).find<std::string>();
}

std::optional<DType> PythonCall::dtype(std::string_view name) const {
  const DType* dtype = value(name).find<DType>();
  return dtype ? std::optional(*dtype) : std::nullopt;
}

Dims PythonCall::dims(std::string_view name) const {
  const PythonValue& given = value(name);
  if (const auto* one = given.find<std::int64_t>()) return {*one};
  Dims dims;
  if (const auto* list = given.find<PythonValue::List>())
    for (const PythonValue& entry : *list) dims.push_back(*entry.find<std::int64_t>());
  return dims;
}

}  // namespace simmesh
