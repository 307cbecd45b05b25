#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/comm_debug_mode.h"
#include "sharding/debug/module_tracker.h"
#include "sharding/dtensor/dispatched_op.h"

namespace simmesh {

// DebugCall is one op that ran on distributed tensors, with the redistributions and collectives
// that it needed.
struct DebugCall {
  std::string op;
  std::vector<std::string> given;          // of each input: "float32[8, 4](S(0))", "plain", "-"
  std::vector<std::string> redistributed;  // "input 1: S(0) -> R"
  std::vector<std::string> collectives;    // "all_gather of float32[4, 4]"
  std::vector<std::string> outputs;
  ModuleTracker::Where module;  // where a model is watched
  std::uint64_t hash = 0;       // of the bits of the rank's pieces of the outputs

  bool operator==(const DebugCall&) const = default;
};

// DebugMode records, in its scope and on its rank, every op that runs on distributed tensors: the
// placements of its inputs before and after redistribution, the collectives of that, the placements
// of its outputs, and a hash of their bits. Named after PyTorch's. To compare two runs of a
// program, find the first call whose hash differs.
//
//   DebugMode mode;
//   backward(loss(model(x)));
//   fmt::print("{}", to_string(mode));
//
// mm of float32[8, 4](S(0),R), float32[4, 6](S(0),R) -> float32[8, 6](S(0),R) 5f1d..
//   input 1: S(0),R -> R,R
//   all_gather of float32[2, 6]
class DebugMode {
 public:
  // With a model, calls also say in which of its modules they ran.
  DebugMode();
  explicit DebugMode(nn::Module& model);

  const std::vector<DebugCall>& calls() const { return calls_; }

 private:
  void see(const DispatchedOp& op);

  std::unique_ptr<ModuleTracker> tracker_;
  std::vector<DebugCall> calls_;
  std::vector<std::string> collectives_;  // since the last call
  CommDebugMode comm_;
  DispatchScope scope_;
};

// to_string returns a call as above, and all calls one after another.
std::string to_string(const DebugCall& call);
std::string to_string(const DebugMode& mode);

// first_difference describes the first difference of two recorded runs: a call of another op, or
// other bits. Empty where they are equal.
//   call 12 in blocks.0.mlp forward differs in its bits: mm of ..
std::string first_difference(const std::vector<DebugCall>& actual,
                             const std::vector<DebugCall>& expected);

}  // namespace simmesh
