#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "zero/config/config.h"

namespace simmesh::zero {

// ConfigCost says what the keys of a configuration cost a rank, by the formulas of docs/zero.md: P
// is the number of elements of all parameters, W the number of ranks. If P is known, each formula
// is followed by its value:
//
//   zero::Config config;
//   zero::ConfigCost cost(config, 8, 1'000'000);
//   cost.of("zero_optimization.stage");
//   // "parameters 4 P = 4000000 bytes, gradients 4 P = 4000000 bytes"
//
// The configuration must outlive this.
class ConfigCost {
 public:
  ConfigCost(const Config& config, std::int64_t ranks, std::optional<std::int64_t> parameters)
      : config_(config), ranks_(ranks), parameters_(parameters) {}

  // of returns the cost of a key by its path; empty where it costs nothing by itself.
  std::string of(const std::string& path) const;

 private:
  std::string of_stage() const;
  std::string of_whole_steps() const;
  std::string of_buckets() const;
  std::string of_autocast() const;
  std::string of_stage3(const std::string& name) const;
  std::string of_offload(const std::string& name) const;
  // bytes_of returns "4 P / W bytes", or with its value where P is known.
  std::string bytes_of(std::int64_t bytes, bool is_shared) const;
  // calls_of returns "2 ceil(P / 1000)", or with its value where P is known.
  std::string calls_of(std::int64_t times, std::int64_t size) const;
  // Bytes of an element of a parameter, and of a gradient that is kept over micro-batches.
  std::int64_t element_bytes() const;
  std::int64_t gradient_bytes() const;
  // Tensors of state for a parameter; nullopt if the program brings the optimiser.
  std::optional<std::int64_t> state_tensors() const;

  const Config& config_;
  std::int64_t ranks_;
  std::optional<std::int64_t> parameters_;
};

}  // namespace simmesh::zero
