#pragma once

#include <fmt/format.h>
#include <string>

namespace simmesh::testing {

// ZeroGateParts are the lines of a gate's tables in which tests of ZeRO differ.
struct ZeroGateParts {
  std::string data = {};
  std::string zero;  // the value of parallel.zero
  std::string train = {};
  std::string expect = "schedules = 2";
};

// zero_gate_text returns a gate that trains two layers on two ranks by ZeRO.
inline std::string zero_gate_text(const ZeroGateParts& parts) {
  return fmt::format(R"(
[mesh]
shape = [2]
names = ["dp"]
[model]
kind = "mlp"
layers = 2
width = 4
[data]
{}
[parallel]
zero = {}
[train]
steps = 2
{}
[arithmetic]
mode = "exact"
[expect]
{}
)",
                     parts.data, parts.zero, parts.train, parts.expect);
}

}  // namespace simmesh::testing
