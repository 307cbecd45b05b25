#include "checkpoint/mapping/macros.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <set>
#include <string_view>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::string_view layer_macro = "$LAYER_ID";

[[noreturn]] void refuse_macro(const Statement& statement, const std::string& why) {
  raise(ErrorKind::value_error, "checkpoint/mapping", "'{}': {}", statement.text, why);
}

// Returns the numbers that stored names have between two texts, ascending.
std::set<std::int64_t> numbers_between(std::string_view before, std::string_view behind,
                                       const std::map<std::string, StoredShape>& stored) {
  std::set<std::int64_t> numbers;
  for (const auto& [name, shape] : stored) {
    if (name.size() <= before.size() + behind.size() || !name.starts_with(before) ||
        !name.ends_with(behind))
      continue;
    const char* begin = name.data() + before.size();
    const char* end = name.data() + name.size() - behind.size();
    std::int64_t number = 0;
    auto [stop, error] = std::from_chars(begin, end, number);
    if (error == std::errc() && stop == end && number >= 0) numbers.insert(number);
  }
  return numbers;
}

std::string replaced(std::string name, std::string_view macro, std::int64_t number) {
  for (std::size_t at = name.find(macro); at != name.npos; at = name.find(macro))
    name.replace(at, macro.size(), std::to_string(number));
  return name;
}

// Returns the layers that all names on the left have, or those of the names on the right if the
// left has no macro.
std::set<std::int64_t> layers_of(const Statement& statement,
                                 const std::map<std::string, StoredShape>& stored) {
  std::set<std::int64_t> layers;
  for (const std::string& name : statement.left) {
    std::size_t at = name.find(layer_macro);
    if (at == name.npos) continue;
    std::string_view behind = std::string_view(name).substr(at + layer_macro.size());
    // After a second macro or a star only the begin counts.
    std::size_t next = std::min(behind.find('$'), behind.find('*'));
    std::set<std::int64_t> found;
    if (next == behind.npos) {
      found = numbers_between(name.substr(0, at), behind, stored);
    } else {
      for (const auto& [full, shape] : stored) {
        std::size_t dot = full.find('.', at);
        if (full.compare(0, at, name, 0, at) != 0 || dot == full.npos) continue;
        found.merge(numbers_between(name.substr(0, at), full.substr(dot), stored));
      }
    }
    layers.merge(found);
  }
  return layers;
}

Statement with_stars(Statement statement, const std::map<std::string, StoredShape>& stored) {
  std::vector<std::string> left;
  for (const std::string& name : statement.left) {
    std::size_t at = name.find('*');
    if (at == name.npos) {
      left.push_back(name);
      continue;
    }
    std::string before = name.substr(0, at), behind = name.substr(at + 1);
    std::set<std::int64_t> numbers = numbers_between(before, behind, stored);
    if (numbers.empty()) refuse_macro(statement, "no stored name fits '" + name + "'");
    for (std::int64_t number : numbers)
      left.push_back(fmt::format("{}{}{}", before, number, behind));
  }
  statement.left = std::move(left);
  return statement;
}

}  // namespace

std::vector<Statement> expanded(const Statement& statement,
                                const std::map<std::string, StoredShape>& stored) {
  std::vector<const std::string*> names;
  for (const std::string& name : statement.left) names.push_back(&name);
  for (const std::string& name : statement.right) names.push_back(&name);
  bool has_layers = false;
  for (const std::string* name : names) {
    if (name->find("$LAYER_ID_OFFSET") != name->npos)
      refuse_macro(statement, "$LAYER_ID_OFFSET: write one statement for each layer");
    has_layers = has_layers || name->find(layer_macro) != name->npos;
  }
  if (!has_layers) return {with_stars(statement, stored)};
  std::set<std::int64_t> layers = layers_of(statement, stored);
  if (layers.empty()) refuse_macro(statement, "no stored name has a number for $LAYER_ID");
  std::vector<Statement> statements;
  for (std::int64_t layer : layers) {
    Statement one = statement;
    for (std::string& name : one.left) name = replaced(name, layer_macro, layer);
    for (std::string& name : one.right) name = replaced(name, layer_macro, layer);
    statements.push_back(with_stars(std::move(one), stored));
  }
  return statements;
}

}  // namespace simmesh::checkpoint
