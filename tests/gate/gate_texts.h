#pragma once

#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "gate/report.h"
#include "gate/run_gate.h"
#include "tests/expect_error.h"

namespace simmesh::testing {

// text_of returns what `simmesh run` prints of one gate.
inline std::string text_of(const GateResult& result) {
  return to_text(gsl::span<const GateResult>(&result, 1));
}

// check_of returns the check of a name; fails the test if there is none.
inline const GateCheck& check_of(const GateResult& result, std::string_view name) {
  for (const GateCheck& check : result.checks)
    if (check.name == name) return check;
  ADD_FAILURE() << "no check " << name << " in " << text_of(result);
  static const GateCheck none;
  return none;
}

// run_text runs the gate of a text.
inline GateResult run_text(const std::string& text, const GateRunOptions& options = {}) {
  return run_gate(gate_from_text(text, "g.toml"), options);
}

// refusal_of returns the error of a text that is no gate; fails the test if it is one.
inline std::string refusal_of(const std::string& text) {
  auto read = [&] { gate_from_text(text, "g.toml"); };
  expect_error<BadGate>(read, ErrorKind::value_error);
  return error_text(read);
}

// expect_refused expects that a text is no gate, with a place and a phrase in the error.
inline void expect_refused(const std::string& text, std::string_view phrase) {
  std::string refusal = refusal_of(text);
  EXPECT_TRUE(refusal.starts_with("[g.toml:")) << refusal;
  EXPECT_NE(refusal.find(phrase), refusal.npos) << refusal << "\nof " << text;
}

inline const std::string exact_mode = "[arithmetic]\nmode = \"exact\"\n";

// A perceptron on two ranks, whose gradients are summed.
inline const std::string replicated_mlp = R"(
[mesh]
shape = [2]
[model]
width = 6
hidden = 5
out = 4
init = { scale = 0.5 }
[data]
rule = "wide"
batch = 30
[parallel]
replicate = { bucket_bytes = 64 }
)";

// A linear layer that two ranks shard, for two steps.
inline const std::string sharded_layer =
    "[mesh]\nshape = [2]\n[model]\nkind = \"linear_stack\"\nlayers = 1\nwidth = 4\n[parallel]\n"
    "fsdp = { wrap = \"root\" }\n[train]\nsteps = 2\n";

}  // namespace simmesh::testing
