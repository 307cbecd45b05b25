#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace simmesh {

// CounterExample is the smallest trial in which a claimed rule doesn't hold.
struct CounterExample {
  std::string mesh;    // "2" or "2x2"
  std::string inputs;  // "float64[3, 5] S(0), ..."
  std::string what;    // the difference
};

// RuleVerdict is the verdict on one claimed rule.
struct RuleVerdict {
  std::uint64_t trials = 0;
  bool has_gradient = false;  // true if gradients were compared in a trial
  std::optional<CounterExample> wrong;
};

// SampleVerdict is the verdict on one sample call of an op.
struct SampleVerdict {
  std::string call;                          // "sum(ab; dims=[1], keepdim=true)"
  std::map<std::string, RuleVerdict> rules;  // by their texts
  // Rules of two mesh dims together that don't hold, though those of one do.
  std::map<std::string, RuleVerdict> over_two_dims;
  std::vector<std::string> missing;  // "S(1) -> P(sum)"
  std::uint64_t combinations = 0;  // placements of inputs and outputs that were judged, all trials
  std::uint64_t trials = 0;        // sizes and data on which the whole call could be run
};

}  // namespace simmesh
