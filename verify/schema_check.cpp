#include "verify/schema_check.h"

#include <algorithm>
#include <fmt/format.h>

#include "verify/schema_page.h"

namespace simmesh {

namespace {

using schema::Choice;
using schema::Field;
using Type = SchemaNode::Type;

bool is_hash(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// Returns whether the value has the type of the schema, whatever its contents.
bool has_type(const CaseField& value, const SchemaNode& schema) {
  const SchemaNode& node = schema.resolved();
  switch (node.type) {
    case Type::flag:
    case Type::yes: return value.is_boolean();
    case Type::null: return value.is_null();
    case Type::any: return true;
    case Type::integer:
    case Type::seed: return value.is_integer();
    case Type::number: return value.is_number();
    case Type::figure: return value.is_number() || value.is_text();
    case Type::list:
    case Type::tuple:
    case Type::tuple_by: return value.is_list();
    case Type::map: return value.is_object();
    case Type::object:
      // Where several kinds of objects are allowed, the first required field tells them apart.
      return value.is_object() &&
             (node.fields.empty() || node.fields[0].is_optional || value.has(node.fields[0].name));
    case Type::either:
      return std::any_of(node.parts.begin(), node.parts.end(),
                         [&](const Schema& part) { return has_type(value, *part); });
    default: return value.is_text();
  }
}

class Checker {
 public:
  explicit Checker(CaseReport& report) : report_(report) {}

  void check(const CaseField& value, const SchemaNode& schema) {
    const SchemaNode& node = schema_for(value, schema);
    switch (node.type) {
      case Type::flag: value.boolean(); return;
      case Type::yes:
        if (!value.boolean()) value.reject("true");
        return;
      case Type::any: return;
      case Type::null:
        if (!value.is_null()) value.reject("null");
        return;
      case Type::integer: value.integer({.min = node.range.min, .max = node.range.max}); return;
      case Type::seed: value.unsigned64(); return;
      case Type::number:
        if (value.number() < node.number_min || value.number() > node.number_max)
          value.reject(in_words(node));
        return;
      case Type::figure: check_figure(value); return;
      case Type::list:
      case Type::tuple: check_list(value, node); return;
      case Type::tuple_by: check_first(value, node); return;
      case Type::map:
        for (const std::string& key : value.keys()) check(value[key], *node.parts[0]);
        return;
      case Type::object: check_object(value, node); return;
      default: check_text(value, node);
    }
  }

  bool ok() const { return ok_; }

 private:
  void mismatch(std::string text) {
    ok_ = false;
    report_.mismatch(std::move(text));
  }

  void unknown(const CaseField& object, const std::string& name) {
    std::string path = object.path();
    mismatch(fmt::format("the field '{}{}{}' is not known", path, path.empty() ? "" : ".", name));
  }

  static void check_figure(const CaseField& value) {
    if (!value.is_text()) {
      value.number();
      return;
    }
    std::string text = value.text();
    if (text != "inf" && text != "-inf" && text != "nan")
      value.reject("a number, inf, -inf or nan");
  }

  void check_text(const CaseField& value, const SchemaNode& node) {
    std::string text = value.text();
    if (node.type == Type::text && text.empty()) value.reject("a text of at least one byte");
    if (node.type == Type::hash && !is_hash(text)) value.reject("16 hex digits");
    if (node.type == Type::word &&
        std::find(node.words.begin(), node.words.end(), text) == node.words.end())
      unknown_word(value, node.words);
    if (node.type == Type::spelled && !is_spelled(text, node)) value.reject(node.name);
  }

  static bool is_spelled(const std::string& text, const SchemaNode& node) {
    try {
      return node.parse(text);
    } catch (const Error&) {
      return false;
    }
  }

  void unknown_word(const CaseField& value, const std::vector<std::string>& words) {
    mismatch(fmt::format("field '{}': '{}' is not known, expected {}", value.path(), value.text(),
                         in_words(words)));
  }

  void check_list(const CaseField& value, const SchemaNode& node) {
    bool is_tuple = node.type == Type::tuple;
    if (value.is_list() && (value.size() < node.count.min || value.size() > node.count.max))
      value.reject(in_words(node));
    std::size_t index = 0;
    for (const CaseField& entry : value.items()) check(entry, *node.parts[is_tuple ? index++ : 0]);
  }

  // Checks a tuple whose word isn't known.
  void check_first(const CaseField& value, const SchemaNode& node) {
    std::vector<CaseField> entries = value.items();
    if (entries.empty() || !entries[0].is_text()) value.reject(in_words(node));
    unknown_word(entries[0], node.words);
  }

  void check_object(const CaseField& value, const SchemaNode& node) {
    std::size_t known = check_fields(value, node.fields);
    if (!node.choices.empty()) {
      const Choice* choice = node.tag.empty() ? chosen_by_name(value, node) : chosen(value, node);
      if (choice == nullptr) return;
      known += check_fields(value, choice->fields) + (node.tag.empty() ? 0 : 1);
      if (known != value.size()) find_unknown(value, node, choice->fields);
    } else if (known != value.size()) {
      find_unknown(value, node, {});
    }
  }

  // Returns how many of the fields are present.
  std::size_t check_fields(const CaseField& value, const schema::Fields& fields) {
    std::size_t found = 0;
    for (const Field& field : fields) {
      std::optional<CaseField> entry = value.find(field.name);
      bool has_other = !field.otherwise.empty() && value.has(field.otherwise);
      if (has_other && entry)
        value.reject(fmt::format("either {} or {}", field.name, field.otherwise));
      if (!entry && !field.is_optional && !has_other)
        value.reject(field.otherwise.empty()
                         ? fmt::format("a field '{}'", field.name)
                         : fmt::format("a field '{}' or '{}'", field.name, field.otherwise));
      if (!entry) continue;
      ++found;
      check(*entry, *field.value);
    }
    return found;
  }

  const Choice* chosen(const CaseField& value, const SchemaNode& node) {
    CaseField tag = value[node.tag];
    const Choice* choice = node.find_choice(tag.text());
    if (choice != nullptr) return choice;
    std::vector<std::string> words;
    for (const Choice& each : node.choices) words.push_back(each.word);
    unknown_word(tag, words);
    return nullptr;
  }

  const Choice* chosen_by_name(const CaseField& value, const SchemaNode& node) {
    const Choice* found = nullptr;
    for (const Choice& choice : node.choices) {
      if (!value.has(choice.word)) continue;
      if (found != nullptr) value.reject(in_words(node));
      found = &choice;
    }
    if (found != nullptr) return found;
    if (value.size() == 0) value.reject(in_words(node));
    for (const std::string& key : value.keys()) unknown(value, key);
    return nullptr;
  }

  void find_unknown(const CaseField& value, const SchemaNode& node, const schema::Fields& more) {
    auto has = [](const schema::Fields& fields, const std::string& key) {
      return std::any_of(fields.begin(), fields.end(),
                         [&](const Field& field) { return field.name == key; });
    };
    for (const std::string& key : value.keys())
      if (key != node.tag && !has(node.fields, key) && !has(more, key)) unknown(value, key);
  }

  CaseReport& report_;
  bool ok_ = true;
};

}  // namespace

namespace {

// Returns the tuple of a value's word; all of them where there is none.
const SchemaNode& tuple_for(const CaseField& value, const SchemaNode& node) {
  if (!value.is_list() || value.size() == 0) return node;
  CaseField first = value.items()[0];
  if (!first.is_text()) return node;
  auto found = std::find(node.words.begin(), node.words.end(), first.text());
  return found == node.words.end() ? node : *node.parts[std::size_t(found - node.words.begin())];
}

}  // namespace

const SchemaNode& schema_for(const CaseField& value, const SchemaNode& schema) {
  const SchemaNode& node = schema.resolved();
  if (node.type == Type::tuple_by) return tuple_for(value, node);
  if (node.type != Type::either) return node;
  for (const Schema& part : node.parts)
    if (has_type(value, *part)) return schema_for(value, *part);
  value.reject(in_words(node));
}

bool check_schema(const CaseField& value, const Schema& schema, CaseReport& report) {
  Checker checker(report);
  checker.check(value, *schema);
  return checker.ok();
}

}  // namespace simmesh
