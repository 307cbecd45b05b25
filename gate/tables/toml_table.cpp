#include "gate/tables/toml_table.h"

#include <fmt/format.h>

namespace simmesh {

std::string toml_number(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string toml_quoted(std::string_view text) {
  std::string result = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + "\"";
}

std::string toml_sizes(DimSpan dims) {
  return toml_list(dims, [](std::int64_t size) { return std::to_string(size); });
}

std::string toml_texts(const std::vector<std::string>& items) {
  return toml_list(items, toml_quoted);
}

TomlTable::TomlTable(std::string_view name) : text_(fmt::format("\n[{}]\n", name)) {}

void TomlTable::add(std::string_view key, const std::string& value) {
  text_ += fmt::format("{} = {}\n", key, value);
}

}  // namespace simmesh
