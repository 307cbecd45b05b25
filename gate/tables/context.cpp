#include "gate/tables/context.h"

#include <fmt/format.h>

#include "gate/tables/model.h"

namespace simmesh {

namespace {

constexpr std::pair<std::string_view, ContextMethod> methods[] = {
    {"ring", ContextMethod::ring},
    {"all_gather", ContextMethod::all_gather},
    {"ulysses", ContextMethod::ulysses}};

constexpr std::pair<std::string_view, SequenceOrder> orders[] = {
    {"head_tail", SequenceOrder::head_tail}, {"contiguous", SequenceOrder::contiguous}};

template <class Words>
auto read_word(GateTable& table, std::string_view key, const Words& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.emplace_back(name);
  std::string word = table.word(key, names.front(), names);
  for (const auto& [name, value] : words)
    if (name == word) return value;
  return words[0].second;
}

template <class Words, class Value>
std::string_view word_of(const Words& words, Value wanted) {
  for (const auto& [name, value] : words)
    if (value == wanted) return name;
  return words[0].first;
}

}  // namespace

GateContext read_gate_context(GateTable& table, const GateLayout& layout,
                              const nn::ModelNode& model) {
  GateContext context;
  context.mesh = table.word("mesh", layout.names.front(), layout.names);
  context.style.method = read_word(table, "method", methods);
  context.style.order = read_word(table, "order", orders);
  table.finish();
  if (!has_kind(model, "attention")) table.reject("mesh", "a model with attention");
  if (has_kind(model, "dropout"))
    table.reject("mesh", "a model without dropout, which draws for whole sequences");
  return context;
}

std::string context_entry(const GateContext& context) {
  return fmt::format("{{ mesh = \"{}\", method = \"{}\", order = \"{}\" }}", context.mesh,
                     word_of(methods, context.style.method), word_of(orders, context.style.order));
}

}  // namespace simmesh
