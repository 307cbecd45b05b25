#include "pipeline/schedule/action.h"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "core/check/check.h"
#include "core/check/error.h"
#include "core/check/join_text.h"

namespace simmesh::pipeline {

namespace {

using enum ActionKind;

constexpr std::array<std::pair<ActionKind, std::string_view>, 16> kind_names = {{
    {idle, ""},
    {wait_reduce_grad, "WAIT_REDUCE_GRAD"},
    {wait_send_f, "WAIT_SEND_F"},
    {wait_send_b, "WAIT_SEND_B"},
    {reduce_grad, "REDUCE_GRAD"},
    {overlap_f_b, "OVERLAP_F_B"},
    {unshard, "UNSHARD"},
    {reshard, "RESHARD"},
    {send_f, "SEND_F"},
    {recv_f, "RECV_F"},
    {send_b, "SEND_B"},
    {recv_b, "RECV_B"},
    {forward, "F"},
    {full_backward, "B"},
    {backward_input, "I"},
    {backward_weight, "W"},
}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r\v\f\x1c\x1d\x1e\x1f";
  std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Takes the number at the start of a text; nullopt where there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc())
    raise(ErrorKind::runtime_error, "pipeline/action",
          "Invalid action string: expected numbers of at most 63 bits, got {}", text);
  text.remove_prefix(std::size_t(end - text.data()));
  return number;
}

// Takes the name of a kind that a plain action may have. No name is a prefix of a later one.
std::optional<ActionKind> take_kind(std::string_view& text) {
  for (auto [kind, name] : kind_names) {
    if (kind == idle || kind == overlap_f_b || !text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return kind;
  }
  return std::nullopt;
}

ActionKind kind_of_name(std::string_view name) {
  for (auto [kind, known] : kind_names)
    if (kind != idle && known == name) return kind;
  raise(ErrorKind::runtime_error, "pipeline/action", "Invalid computation type {}", name);
}

Action parse_compound(std::string_view text, std::size_t parts_end) {
  Action action{.stage = -1};
  std::string_view parts = text.substr(1, parts_end - 1);
  while (true) {
    std::size_t end = parts.find(';');
    Action part = Action::parse(parts.substr(0, end));
    if (!part.is_idle()) action.parts.push_back(std::move(part));
    if (end == std::string_view::npos) break;
    parts.remove_prefix(end + 1);
  }
  action.kind = kind_of_name(text.substr(parts_end + 1));
  return action;
}

}  // namespace

std::string_view to_string(ActionKind kind) {
  for (auto [known, name] : kind_names)
    if (known == kind) return name;
  return {};
}

bool is_compute(ActionKind kind) { return kind >= forward && kind <= overlap_f_b; }
bool is_backward(ActionKind kind) { return kind == full_backward || kind == backward_input; }
bool is_send(ActionKind kind) { return kind == send_f || kind == send_b; }
bool is_recv(ActionKind kind) { return kind == recv_f || kind == recv_b; }
bool is_wait_send(ActionKind kind) { return kind == wait_send_f || kind == wait_send_b; }

ActionKind wait_of(ActionKind send) {
  SIMMESH_CHECK(is_send(send), "a wait is for a send");
  return send == send_f ? wait_send_f : wait_send_b;
}

ActionKind send_of(ActionKind wait) {
  SIMMESH_CHECK(is_wait_send(wait), "a send has a wait");
  return wait == wait_send_f ? send_f : send_b;
}

Action Action::parse(std::string_view given) {
  std::string_view text = trimmed(given);
  if (text.empty()) return {};
  if (std::size_t end = text.find(')'); text.front() == '(' && end != std::string_view::npos)
    return parse_compound(text, end);
  std::string_view rest = text;
  std::optional<std::int64_t> stage = take_number(rest);
  std::optional<ActionKind> kind = stage ? take_kind(rest) : std::nullopt;
  if (!kind)
    raise(ErrorKind::runtime_error, "pipeline/action",
          "Invalid action string: {}, expected [stage][kind][micro-batch], for instance 2F0", text);
  return {.stage = *stage, .kind = *kind, .microbatch = take_number(rest)};
}

gsl::span<const Action> Action::leaves() const {
  if (parts.empty()) return {this, 1};
  return parts;
}

std::string to_string(const ActionKey& key) {
  if (key.kind == idle) return {};
  std::string text = fmt::format("{}{}", key.stage, to_string(key.kind));
  if (key.microbatch) text += std::to_string(*key.microbatch);
  return text;
}

std::string to_string(const Action& action) {
  if (action.parts.empty()) return to_string(action.key());
  std::vector<std::string> parts;
  for (const Action& part : action.parts) parts.push_back(to_string(part));
  return fmt::format("({}){}", join_text(parts, ";"), to_string(action.kind));
}

Action compound(std::vector<Action> parts) {
  return {.stage = -1, .kind = overlap_f_b, .parts = std::move(parts)};
}

}  // namespace simmesh::pipeline
