#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/shape.h"

namespace simmesh {

// toml_number returns a number as TOML has it, with a point or an exponent: "2.0".
std::string toml_number(double value);

// toml_quoted returns a text in quotes.
std::string toml_quoted(std::string_view text);

// toml_list returns a list of the texts that `show` returns for each item: "[1, 2]".
template <class List, class Show>
std::string toml_list(const List& items, const Show& show) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + show(item);
  return "[" + text + "]";
}

// toml_sizes returns a list of integers, and toml_texts one of texts in quotes.
std::string toml_sizes(DimSpan dims);
std::string toml_texts(const std::vector<std::string>& items);

// TomlTable collects the lines of one table.
//
//   TomlTable table("train");
//   table.add("steps", std::int64_t(3));
//   table.text();  // "\n[train]\nsteps = 3\n"
class TomlTable {
 public:
  explicit TomlTable(std::string_view name);

  // add adds a key with a value. A text must be TOML. word adds a text in quotes.
  void add(std::string_view key, const std::string& value);
  void add(std::string_view key, std::int64_t value) { add(key, std::to_string(value)); }
  void add(std::string_view key, bool value) { add(key, std::string(value ? "true" : "false")); }
  void word(std::string_view key, std::string_view value) { add(key, toml_quoted(value)); }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace simmesh
