#pragma once

#include <compare>
#include <cstdint>
#include <gsl/span>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh::pipeline {

// ActionKind is a step of a rank of a pipeline, as torch.distributed.pipelining names them.
enum class ActionKind : std::uint8_t {
  idle,             // an empty slot
  forward,          // F
  full_backward,    // B: gradients of inputs and weights
  backward_input,   // I: gradients of inputs
  backward_weight,  // W: gradients of weights
  overlap_f_b,      // a compound action, whose parts run one after the other
  unshard,
  reshard,
  send_f,  // of an activation, to the next stage
  recv_f,
  send_b,  // of a gradient, to the stage before
  recv_b,
  wait_send_f,
  wait_send_b,
  reduce_grad,
  wait_reduce_grad,
};

// to_string returns the name in texts: "F", "SEND_B"; empty for an idle slot.
std::string_view to_string(ActionKind kind);

// is_compute is true for F, B, I, W and a compound action.
bool is_compute(ActionKind kind);
// is_backward is true for the actions that make the gradient of a stage's input: B and I.
bool is_backward(ActionKind kind);
bool is_send(ActionKind kind);
bool is_recv(ActionKind kind);
bool is_wait_send(ActionKind kind);
// wait_of returns the wait for a send, send_of the send that a wait waits for.
ActionKind wait_of(ActionKind send);
ActionKind send_of(ActionKind wait);

// ActionKey names an action that has no parts. Keys are ordered.
struct ActionKey {
  std::int64_t stage = 0;
  ActionKind kind = ActionKind::idle;
  std::optional<std::int64_t> microbatch = {};

  friend auto operator<=>(const ActionKey&, const ActionKey&) = default;
};

// Action is a step of one rank: a kind of work for a micro-batch of a stage.
//
//   // Stage 3 sends the activation of micro-batch 1.
//   pipeline::Action send = pipeline::Action::parse("3SEND_F1");
//   pipeline::Action both = pipeline::Action::parse("(2F1;1B0)OVERLAP_F_B");
struct Action {
  std::int64_t stage = 0;  // -1 for a compound action
  ActionKind kind = ActionKind::idle;
  std::optional<std::int64_t> microbatch = {};
  std::vector<Action> parts = {};  // of a compound action

  // parse reads an action. Blanks around it don't count, and neither does what follows the longest
  // match: "0F0junk" is 0F0. An empty text is an idle slot. Raises a RuntimeError for any other
  // text.
  static Action parse(std::string_view text);

  bool is_idle() const { return kind == ActionKind::idle; }
  ActionKey key() const { return {stage, kind, microbatch}; }
  // leaves are the parts of a compound action, and else the action alone. They refer to it.
  gsl::span<const Action> leaves() const;

  friend bool operator==(const Action&, const Action&) = default;
};

// to_string returns the text that parse reads: "2F0", empty for an idle slot.
std::string to_string(const Action& action);
std::string to_string(const ActionKey& key);

// compound returns an action of the kind OVERLAP_F_B.
Action compound(std::vector<Action> parts);

}  // namespace simmesh::pipeline
