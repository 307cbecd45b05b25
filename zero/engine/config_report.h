#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/check/json_value.h"
#include "zero/config/config.h"

namespace simmesh::zero {

// ConfigLine is one key of a configuration: its value, whether the file gives it, and what it
// costs, in words and formulas; empty where it costs nothing by itself.
struct ConfigLine {
  std::string key;
  JsonValue value;
  bool is_given = false;
  std::string cost;
};

// ConfigReport is the meaning of a configuration of DeepSpeed for a number of ranks: the batch
// sizes, every key that holds, the keys of the file that change nothing here, and those that
// DeepSpeed doesn't know either.
struct ConfigReport {
  std::int64_t ranks = 1;
  BatchSizes sizes;
  std::vector<ConfigLine> lines;
  std::vector<std::string> idle;
  std::vector<std::string> unknown;

  // to_text returns a line for the batch sizes and one for each key and list, and to_json the same
  // as one value.
  std::string to_text() const;
  JsonValue to_json() const;
};

// ConfigQuestion is a configuration whose "auto" are resolved (see zero/config/config_autos.h), the
// number of ranks, and the number of elements of the model's parameters, if it is known: then costs
// are bytes and calls, otherwise formulas in P.
struct ConfigQuestion {
  JsonValue config;
  std::int64_t ranks = 1;
  std::optional<std::int64_t> parameters = {};
};

// report_config judges a configuration as DeepSpeed does when it makes an engine with an optimiser.
// Raises the Error with which it is refused, or the ValueError that names what simmesh lacks.
ConfigReport report_config(const ConfigQuestion& question);

// read_auto reads one of AutoValues by its name: "hidden_size=4096", "bf16=true", "betas=0.9,0.95".
// Raises a ValueError for another name or value.
void read_auto(const std::string& assignment, AutoValues& autos);

}  // namespace simmesh::zero
