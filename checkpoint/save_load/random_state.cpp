#include "checkpoint/save_load/random_state.h"

#include <algorithm>
#include <bit>

#include "checkpoint/catalog/manifest.h"
#include "checkpoint/read/exchange.h"
#include "core/check/error.h"
#include "core/ops/functions/default_generator.h"

namespace simmesh::checkpoint {

namespace {

constexpr const char* random_name = "random";

// Returns both numbers with the same bits as signed ones, since JSON has those.
JsonValue value_of(const Generator& generator) {
  JsonValue value = JsonValue::object();
  value.set("seed", JsonValue(std::bit_cast<std::int64_t>(generator.seed)));
  value.set("stream", JsonValue(std::bit_cast<std::int64_t>(generator.stream)));
  return value;
}

Generator generator_of(const JsonValue& value) {
  auto number = [&](std::string_view key) {
    const JsonValue* entry = value.get<JsonValue::Object>() ? value.find(key) : nullptr;
    const auto* bits = entry == nullptr ? nullptr : entry->get<std::int64_t>();
    if (bits == nullptr)
      raise(ErrorKind::value_error, "checkpoint/load",
            "'{}': expected an object of the integers seed and stream, got {}", random_name,
            value.text(40));
    return std::bit_cast<std::uint64_t>(*bits);
  };
  return {number("seed"), number("stream")};
}

// Returns the generator with which a rank of a group continues.
Generator own_generator(const JsonValue& value, const ProcessGroup& group) {
  const auto* list = value.get<JsonValue::List>();
  if (list == nullptr) return generator_of(value);
  if (std::int64_t(list->size()) != group.size())
    raise(ErrorKind::value_error, "checkpoint/load",
          "'{}': the {} ranks that saved it had different generators; expected as many, got {}",
          random_name, list->size(), group.size());
  return generator_of((*list)[std::size_t(group.rank())]);
}

}  // namespace

void add_random_state(StateDict& state, const ProcessGroup& group) {
  std::vector<std::string> all = all_gather_text(value_text(value_of(default_generator())), group);
  bool are_equal = std::all_of(all.begin(), all.end(),
                               [&](const std::string& text) { return text == all.front(); });
  JsonValue value = parse_value(all.front());
  if (!are_equal) {
    JsonValue::List list;
    for (const std::string& text : all) list.push_back(parse_value(text));
    value = {std::move(list)};
  }
  state.add(random_name, std::move(value), [group](const JsonValue& loaded) {
    default_generator() = own_generator(loaded, group);
  });
}

}  // namespace simmesh::checkpoint
