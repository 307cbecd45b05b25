#include "verify/pytorch/ops/op_result.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "core/ops/compute_mode.h"
#include "sharding/dtensor/dtensor.h"
#include "verify/case_bits.h"
#include "verify/case_number.h"
#include "verify/case_tensor.h"
#include "verify/pytorch/ops/complex_pairs.h"

namespace simmesh {

namespace {

constexpr std::size_t values_max = 1 << 20;

template <class Bits>
void normalise(Tensor& tensor, Bits sign, Bits infinity, Bits quiet) {
  auto* bits = reinterpret_cast<Bits*>(tensor.mutable_data());
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    Bits magnitude = bits[i] & Bits(~sign);
    if (magnitude == 0) bits[i] = 0;
    if (magnitude > infinity) bits[i] = quiet;
  }
}

bool is_close(double expected, double actual, const Closeness& closeness) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  if (expected == actual) return true;
  return std::fabs(actual - expected) <=
         closeness.relative * std::fabs(expected) + closeness.absolute;
}

std::vector<double> read_values(const CaseField& field) {
  std::vector<double> values;
  for (const CaseField& value : field.items(values_max)) values.push_back(read_number(value));
  return values;
}

void require_entries(const CaseField& field, std::int64_t world) {
  if (std::int64_t(field.size()) != world)
    field.reject(fmt::format("one entry for each of {} ranks", world));
}

// Reads a Python bool, or a number.
PythonValue read_value(const CaseField& field) {
  if (field.is_boolean()) return field.boolean();
  if (field.is_integer()) return field.integer();
  return read_number(field);
}

std::string shown(const PythonValue& value) {
  auto number = value.as_number();
  return number ? fmt::format("{}", number->as<double>()) : value.type_name();
}

Shape with_pairs(Shape shape, bool is_complex) {
  if (is_complex) shape.push_back(2);
  return shape;
}

// Only the pending placements that mean nothing on a rank have no local contents.
bool has_local_contents(const RecordedResult& result) {
  if (!result.placements) return true;
  return std::none_of(result.placements->begin(), result.placements->end(),
                      [](const Placement& placement) {
                        return placement.kind() == Placement::Kind::mask_partial ||
                               placement.kind() == Placement::Kind::norm_partial;
                      });
}

// Bits or values are there in one of the two forms, of the whole and of each piece.
void require_contents(const CaseField& field, const RecordedResult& result) {
  bool has_bits = field.has("full_hash");
  if (has_bits == field.has("full_values")) field.reject("full_hash, or full_values");
  if (!field.has("local_shape")) field.reject("local_shape, the shape of each piece");
  if (field.has(has_bits ? "values" : "hash")) field.reject("one form of contents");
  if (!field.has(has_bits ? "hash" : "values") && has_local_contents(result))
    field.reject(has_bits ? "hash, the bits of each piece" : "values, those of each piece");
}

}  // namespace

std::string difference_in_values(const std::vector<double>& expected, const Tensor& tensor,
                                 const Closeness& closeness) {
  std::vector<double> actual = known_doubles(tensor);
  if (expected.size() != actual.size())
    return fmt::format("expected {} values, got {}", expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!is_close(expected[i], actual[i], closeness))
      return fmt::format("value {}: expected {}, got {}", i, expected[i], actual[i]);
  return {};
}

bool same_value(const PythonValue& expected, const PythonValue& actual) {
  auto a = expected.as_number(), b = actual.as_number();
  return a && b && a->is_bool() == b->is_bool() && is_close(a->as<double>(), b->as<double>(), {});
}

std::string difference_in_values(const Tensor& expected, const Tensor& tensor,
                                 const Closeness& closeness) {
  return difference_in_values(known_doubles(expected), tensor, closeness);
}

Schema case_placements_schema() {
  using namespace schema;
  return list(spelled("a placement",
                      [](const std::string& text) {
                        return text.starts_with("_NormP(") || !parse_placements(text).empty();
                      }),
              {.max = 64});
}

Schema result_schema(bool is_gradient) {
  using namespace schema;
  Schema dtype = word({"float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8",
                       "bool", "complex64", "complex128"});
  Fields fields = {expected("shape", shape_schema()).unless("value"),
                   expected("dtype", std::move(dtype)).unless("value"),
                   expected("placements", case_placements_schema()).or_absent(),
                   expected("plain_tensor", yes()).or_absent(),
                   expected("local_shape", list(shape_schema())).or_absent(),
                   expected("hash", list(simmesh::schema::hash())).or_absent(),
                   expected("values", list(list(figure()))).or_absent(),
                   expected("full_hash", simmesh::schema::hash()).or_absent(),
                   expected("full_values", list(figure())).or_absent(),
                   expected("value", either({flag(), figure()})).or_absent()};
  if (is_gradient) fields.push_back(required("input", integer({.min = 0})));
  return object(std::move(fields));
}

Placements read_case_placements(const CaseField& field) {
  Placements placements;
  for (const std::string& text : field.texts())
    placements.push_back(parse_placement(text.starts_with("_NormP(") ? text.substr(1) : text));
  return placements;
}

RecordedResult read_result(const CaseField& field, std::int64_t world) {
  RecordedResult result;
  if (auto input = field.find("input")) result.input = std::size_t(input->integer());
  if (auto value = field.find("value")) {
    result.value = read_value(*value);
    return result;
  }
  std::string dtype = field["dtype"].text();
  result.is_complex = is_complex_dtype(dtype);
  result.dtype = real_dtype(dtype);
  result.shape = field["shape"].shape();
  if (field.has("placements") == field.has("plain_tensor"))
    field.reject("placements, or plain_tensor");
  if (auto placements = field.find("placements"))
    result.placements = read_case_placements(*placements);
  require_contents(field, result);
  if (auto shapes = field.find("local_shape")) {
    require_entries(*shapes, world);
    for (const CaseField& shape : shapes->items()) result.local_shapes.push_back(shape.shape());
  }
  if (auto hashes = field.find("hash")) {
    require_entries(*hashes, world);
    for (const CaseField& hash : hashes->items()) result.hashes.push_back(hash.text());
  }
  if (auto values = field.find("values")) {
    require_entries(*values, world);
    for (const CaseField& one : values->items()) result.values.push_back(read_values(one));
  }
  if (auto hash = field.find("full_hash")) result.full_hash = hash->text();
  if (auto values = field.find("full_values")) result.full_values = read_values(*values);
  return result;
}

ActualResult result_of(const PythonValue& value) {
  ActualResult result;
  const Tensor* tensor = value.find<Tensor>();
  if (!tensor) {
    result.value = value;
    return result;
  }
  if (!tensor->is_defined()) return result;
  NoGrad scope;
  result.shape = tensor->shape();
  result.dtype = tensor->dtype();
  result.local = tensor->local_part();
  result.full = result.local;
  if (tensor->distribution()) {
    DTensor distributed = DTensor::of(tensor->detach());
    result.placements = distributed.placements();
    result.full = distributed.full_tensor();
  }
  return result;
}

std::string bits_without_signs_of_zero(const Tensor& tensor) {
  Tensor copy = known_rows(tensor).clone();
  if (!copy.has_elements() || copy.numel() == 0) return bits_text(copy);
  switch (copy.dtype()) {
    case DType::float64:
      normalise<std::uint64_t>(copy, 1ull << 63, 0x7ff0ull << 48, 0x7ff8ull << 48);
      break;
    case DType::float32:
      normalise<std::uint32_t>(copy, 1u << 31, 0x7f80u << 16, 0x7fc0u << 16);
      break;
    case DType::bfloat16: normalise<std::uint16_t>(copy, 0x8000, 0x7f80, 0x7fc0); break;
    case DType::float16: normalise<std::uint16_t>(copy, 0x8000, 0x7c00, 0x7e00); break;
    default: break;
  }
  return bits_text(copy);
}

void compare_result(const RecordedResult& expected, const ActualResult& actual,
                    const RankOfResult& at, ResultDifferences& differences) {
  std::string who = fmt::format("rank {}: {}", at.rank, at.what);
  auto differ = [&](std::vector<std::string>& list, const char* what, const auto& wanted,
                    const auto& got) {
    if (wanted == got) return false;
    list.push_back(fmt::format("{}: {}: expected {}, got {}", who, what, wanted, got));
    return true;
  };
  if (expected.value || actual.value) {
    bool is_same = expected.value && actual.value && same_value(*expected.value, *actual.value);
    if (!is_same)
      differences.of_values.push_back(
          fmt::format("{}: value: expected {}, got {}", who,
                      expected.value ? shown(*expected.value) : "a tensor",
                      actual.value ? shown(*actual.value) : "a tensor"));
    return;
  }
  if (!actual.local.is_defined()) {
    differences.of_values.push_back(fmt::format("{}: expected a tensor, got none", who));
    return;
  }
  differ(differences.of_values, "dtype", to_string(expected.dtype), to_string(actual.dtype));
  if (differ(differences.of_values, "shape", with_pairs(expected.shape, expected.is_complex),
             actual.shape))
    return;
  auto words = [](const std::optional<Placements>& placements) {
    return placements ? to_string(PlacementSpan(*placements)) : std::string("a plain tensor");
  };
  bool moved = differ(differences.of_plan, "placements", words(expected.placements),
                      words(actual.placements));
  std::size_t rank = at.rank;
  if (!moved && !expected.local_shapes.empty())
    moved |=
        differ(differences.of_plan, "local shape",
               with_pairs(expected.local_shapes[rank], expected.is_complex), actual.local.shape());
  if (!moved && !expected.hashes.empty())
    differ(differences.of_plan, "bits", expected.hashes[rank],
           bits_without_signs_of_zero(actual.local));
  if (!moved && !expected.values.empty())
    if (auto text = difference_in_values(expected.values[rank], actual.local, at.closeness);
        !text.empty())
      differences.of_plan.push_back(fmt::format("{}: {}", who, text));
  if (expected.full_hash)
    differ(differences.of_values, "whole tensor: bits", *expected.full_hash,
           bits_without_signs_of_zero(actual.full));
  if (expected.full_values)
    if (auto text = difference_in_values(*expected.full_values, actual.full, at.closeness);
        !text.empty())
      differences.of_values.push_back(fmt::format("{}: whole tensor: {}", who, text));
}

}  // namespace simmesh
