#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/json_value.h"
#include "core/tensor/dtype.h"
#include "zero/config/config.h"
#include "zero/config/scheduler_config.h"

namespace simmesh::zero {

// ConfigValue is a JSON value of a configuration and the path of its key.
struct ConfigValue {
  const JsonValue& json;
  std::string path;
};

// ConfigBounds limits a number.
struct ConfigBounds {
  double min = -std::numeric_limits<double>::infinity();
  bool is_open = false;  // min itself isn't allowed, and max neither
  double max = std::numeric_limits<double>::infinity();
};

// read_value reads a value as pydantic does, on which DeepSpeed's configuration is built: an
// integer may be a number without a fraction or text with digits, true may be 1 or "yes". Errors
// name the path, the expected value and the given one.
void read_value(const ConfigValue& value, const ConfigBounds& bounds, std::int64_t& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, double& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, bool& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, std::string& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, DType& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, OffloadDevice& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, WarmupType& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, PerGroup& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds, std::array<double, 2>& out);
void read_value(const ConfigValue& value, const ConfigBounds& bounds,
                std::vector<std::int64_t>& out);
// A single text counts as a list of one.
void read_value(const ConfigValue& value, const ConfigBounds& bounds,
                std::vector<std::string>& out);

// Null is an absent value.
template <class T>
void read_value(const ConfigValue& value, const ConfigBounds& bounds, std::optional<T>& out) {
  out.reset();
  if (!value.json.is_null()) read_value(value, bounds, out.emplace());
}

// written is the inverse of read_value.
JsonValue written(std::int64_t value);
JsonValue written(double value);
JsonValue written(bool value);
JsonValue written(const std::string& value);
JsonValue written(DType value);
JsonValue written(OffloadDevice value);
JsonValue written(WarmupType value);
JsonValue written(const PerGroup& value);
JsonValue written(const std::array<double, 2>& value);
JsonValue written(const std::vector<std::int64_t>& value);
JsonValue written(const std::vector<std::string>& value);
template <class T>
JsonValue written(const std::optional<T>& value) {
  return value ? written(*value) : JsonValue();
}

// expect_object raises a TypeError for a value that isn't an object.
void expect_object(const ConfigValue& value);

}  // namespace simmesh::zero
