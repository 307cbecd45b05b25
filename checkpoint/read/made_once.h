#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/run/run.h"

namespace simmesh::checkpoint {

// Made holds the values of a run that ranks made of texts and still use.
template <class T>
struct Made {
  struct Value {
    std::string text;
    T value;
  };
  std::vector<std::weak_ptr<const Value>> values;
};

// made_once returns the value that `make` makes of a text. The value must depend on the text alone:
// ranks of a run that have equal texts at the same time share the value of the first of them.
// Blocks no other rank. Raises on each rank what `make` raises.
template <class T, class F>
std::shared_ptr<const T> made_once(const std::string& text, const F& make) {
  Rank& rank = this_rank();
  rank.run().take_turn(rank);
  auto& values = rank.run().template state<Made<T>>().values;
  std::erase_if(values, [](const auto& value) { return value.expired(); });
  for (const auto& known : values)
    if (auto value = known.lock(); value->text == text) return {value, &value->value};
  using Value = typename Made<T>::Value;
  std::shared_ptr<const Value> value = std::make_shared<Value>(Value{text, make()});
  values.push_back(value);
  return {value, &value->value};
}

}  // namespace simmesh::checkpoint
