#include "verify/schema_page.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "core/check/join_text.h"

namespace simmesh {

namespace {

using schema::Choice;
using schema::Field;
using Type = SchemaNode::Type;

std::string range_in_words(const schema::Range& range) {
  schema::Range whole;
  if (range.min == whole.min && range.max == whole.max) return "an integer";
  if (range.max == whole.max) return fmt::format("an integer of at least {}", range.min);
  return fmt::format("an integer in {} .. {}", range.min, range.max);
}

std::string count_in_words(const schema::Count& count) {
  schema::Count whole;
  if (count.min == count.max) return fmt::format("a list of {} entries", count.min);
  if (count.min == 0 && count.max == whole.max) return "a list";
  if (count.max == whole.max)
    return fmt::format("a list of at least {} {}", count.min, count.min == 1 ? "entry" : "entries");
  if (count.min == 0) return fmt::format("a list of at most {} entries", count.max);
  return fmt::format("a list of {} .. {} entries", count.min, count.max);
}

std::vector<std::string> names_of(const std::vector<Schema>& schemas) {
  std::vector<std::string> names;
  for (const Schema& each : schemas) names.push_back(in_words(*each));
  return names;
}

std::string object_in_words(const SchemaNode& node) {
  if (node.tag.empty() && !node.choices.empty()) {
    std::vector<std::string> names;
    for (const Choice& choice : node.choices) names.push_back(choice.word);
    return fmt::format("an object with just one of {}", in_words(names));
  }
  if (node.fields.empty() || node.fields[0].is_optional) return "an object";
  return fmt::format("an object with '{}'", node.fields[0].name);
}

std::string presence_of(const Field& field, const std::string& where) {
  std::vector<std::string> words;
  if (field.is_expected) words.emplace_back("compared");
  if (!where.empty()) words.push_back(where);
  if (field.is_optional) words.emplace_back("optional");
  if (!field.otherwise.empty()) words.push_back(fmt::format("instead of `{}`", field.otherwise));
  return join_text(words, "; ");
}

}  // namespace

std::string in_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

std::string in_words(const SchemaNode& node) {
  switch (node.type) {
    case Type::flag: return "true or false";
    case Type::yes: return "true";
    case Type::null: return "null";
    case Type::integer: return range_in_words(node.range);
    case Type::seed: return "an integer in 0 .. 2^64-1";
    case Type::number:
      if (std::isinf(node.number_min)) return "a number";
      if (std::isinf(node.number_max))
        return fmt::format("a number of at least {}", node.number_min);
      return fmt::format("a number in {} .. {}", node.number_min, node.number_max);
    case Type::figure: return "a number, inf, -inf or nan";
    case Type::text: return "a text";
    case Type::any_text: return "a text, which may be empty";
    case Type::any: return "any value";
    case Type::hash: return "16 hex digits";
    case Type::word: return in_words(node.words);
    case Type::spelled: return node.name;
    case Type::list: return count_in_words(node.count) + ", each " + in_words(*node.parts[0]);
    case Type::tuple: return fmt::format("[{}]", join_text(names_of(node.parts), "; "));
    case Type::tuple_by: return fmt::format("a list that begins with {}", in_words(node.words));
    case Type::map: return "an object of any names, each " + in_words(*node.parts[0]);
    case Type::either: return in_words(names_of(node.parts));
    case Type::object: return object_in_words(node);
    case Type::named: return "a " + node.name;
  }
  return "";
}

void SchemaPage::add(const std::string& title, const std::string& remark, const Schema& schema) {
  std::vector<Row> rows;
  add_structure("", *schema, rows);
  text_ += section(title, remark, rows);
}

// Adds the rows below a value: fields of an object, of the entries of a list.
void SchemaPage::add_structure(const std::string& path, const SchemaNode& schema,
                               std::vector<Row>& rows) {
  switch (schema.type) {
    case Type::named: {
      auto is_known = [&](const auto& each) { return each.first == schema.name; };
      if (std::none_of(named_.begin(), named_.end(), is_known)) {
        named_.emplace_back(schema.name, nullptr);
        Schema made = schema.make();
        std::find_if(named_.begin(), named_.end(), is_known)->second = made;
        std::vector<Row> below;  // mentions the schemas that it holds
        add_structure("", *made, below);
      }
      return;
    }
    case Type::list: return add_structure(path + "[]", *schema.parts[0], rows);
    case Type::map: return add_structure(path + ".*", *schema.parts[0], rows);
    case Type::tuple:
      for (std::size_t i = 0; i < schema.parts.size(); ++i)
        add_structure(fmt::format("{}[{}]", path, i), *schema.parts[i], rows);
      return;
    case Type::tuple_by:
      for (const Schema& part : schema.parts) rows.push_back({path, in_words(*part), ""});
      return;
    case Type::either:
      for (const Schema& part : schema.parts) add_structure(path, *part, rows);
      return;
    case Type::object: {
      add_fields(path, schema.fields, "", rows);
      std::vector<std::string> words;
      for (const Choice& choice : schema.choices) words.push_back(choice.word);
      std::string prefix = path.empty() ? "" : path + ".";
      if (!schema.tag.empty()) rows.push_back({prefix + schema.tag, in_words(words), ""});
      for (const Choice& choice : schema.choices)
        add_fields(path, choice.fields,
                   schema.tag.empty() ? fmt::format("with `{}`", choice.word)
                                      : fmt::format("`{}` {}", schema.tag, choice.word),
                   rows);
      return;
    }
    default: return;
  }
}

void SchemaPage::add_fields(const std::string& path, const schema::Fields& fields,
                            const std::string& where, std::vector<Row>& rows) {
  for (const Field& field : fields) {
    std::string own = path.empty() ? field.name : path + "." + field.name;
    rows.push_back({own, in_words(*field.value), presence_of(field, where)});
    add_structure(own, *field.value, rows);
  }
}

std::string SchemaPage::section(const std::string& title, const std::string& remark,
                                const std::vector<Row>& rows) {
  std::string text = fmt::format("\n## {}\n", title);
  if (!remark.empty()) text += remark + "\n\n";
  text += "| field | value | |\n| --- | --- | --- |\n";
  for (const Row& row : rows)
    text += fmt::format("| `{}` | {} | {} |\n", row.path, row.value, row.presence);
  return text;
}

std::string SchemaPage::text() const {
  auto sorted = named_;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = text_;
  for (const auto& [name, schema] : sorted) {
    std::vector<Row> rows;
    SchemaPage(*this).add_structure("", *schema, rows);
    text += section(name, "", rows);
  }
  return text;
}

}  // namespace simmesh
