#include "verify/schema.h"

#include <algorithm>
#include <utility>

#include "core/check/check.h"

namespace simmesh {

using Type = SchemaNode::Type;

const SchemaNode& SchemaNode::resolved() const {
  if (type != Type::named) return *this;
  std::call_once(made->once, [this] { made->schema = make(); });
  return made->schema->resolved();
}

const schema::Choice* SchemaNode::find_choice(std::string_view word) const {
  auto found = std::find_if(choices.begin(), choices.end(),
                            [&](const schema::Choice& choice) { return choice.word == word; });
  return found == choices.end() ? nullptr : &*found;
}

namespace schema {

namespace {

Schema make(SchemaNode node) { return std::make_shared<const SchemaNode>(std::move(node)); }

}  // namespace

Field Field::unless(std::string other) const {
  Field field = *this;
  field.otherwise = std::move(other);
  return field;
}

Field Field::or_absent() const {
  Field field = *this;
  field.is_optional = true;
  return field;
}

Field Field::or_absent(std::string why) const {
  Field field = or_absent();
  field.why_absent = std::move(why);
  return field;
}

Field Field::or_fewer(std::string why) const {
  Field field = *this;
  field.why_fewer = std::move(why);
  return field;
}

Field Field::because(std::string why) const {
  Field field = *this;
  field.why_idle = std::move(why);
  return field;
}

Field required(std::string name, Schema value) { return {std::move(name), std::move(value)}; }

Field optional(std::string name, Schema value) {
  return required(std::move(name), std::move(value)).or_absent();
}

Field expected(std::string name, Schema value) {
  return {.name = std::move(name), .value = std::move(value), .is_expected = true};
}

Field label(std::string name, Schema value) {
  return optional(std::move(name), std::move(value)).because("for human readers");
}

Schema flag() { return make({.type = Type::flag}); }
Schema yes() { return make({.type = Type::yes}); }
Schema null() { return make({.type = Type::null}); }
Schema integer(Range range) { return make({.type = Type::integer, .range = range}); }
Schema seed() { return make({.type = Type::seed}); }
Schema number() { return make({.type = Type::number}); }
Schema number_in(double min, double max) {
  return make({.type = Type::number, .number_min = min, .number_max = max});
}
Schema figure() { return make({.type = Type::figure}); }
Schema text() { return make({.type = Type::text}); }
Schema any_text() { return make({.type = Type::any_text}); }
Schema any() { return make({.type = Type::any}); }
Schema hash() { return make({.type = Type::hash}); }

Schema word(std::vector<std::string> words) {
  return make({.type = Type::word, .words = std::move(words)});
}

Schema spelled(std::string what, std::function<bool(const std::string& text)> parse) {
  return make({.type = Type::spelled, .name = std::move(what), .parse = std::move(parse)});
}

Schema list(Schema entry, Count count) {
  return make({.type = Type::list, .count = count, .parts = {std::move(entry)}});
}

Schema tuple(std::vector<Schema> entries) {
  std::size_t size = entries.size();
  return make(
      {.type = Type::tuple, .count = {.min = size, .max = size}, .parts = std::move(entries)});
}

Schema tuple_by(std::vector<TupleChoice> choices) {
  SchemaNode node{.type = Type::tuple_by};
  for (TupleChoice& choice : choices) {
    std::vector<Schema> entries = {word({choice.word})};
    entries.insert(entries.end(), choice.entries.begin(), choice.entries.end());
    std::size_t most = entries.size();
    node.words.push_back(choice.word);
    node.parts.push_back(make({.type = Type::tuple,
                               .count = {.min = most - choice.optional, .max = most},
                               .parts = std::move(entries)}));
  }
  return make(std::move(node));
}

Schema map(Schema entry) { return make({.type = Type::map, .parts = {std::move(entry)}}); }

Schema either(std::vector<Schema> values) {
  return make({.type = Type::either, .parts = std::move(values)});
}

Schema or_null(Schema value) { return either({std::move(value), null()}); }

Schema object(Fields fields) { return make({.type = Type::object, .fields = std::move(fields)}); }

Schema object_by(std::string tag, std::vector<Choice> choices, Fields fields) {
  for (const Choice& choice : choices)
    for (const Field& field : choice.fields) {
      bool is_twice = field.name == tag ||
                      std::any_of(fields.begin(), fields.end(),
                                  [&](const Field& other) { return other.name == field.name; });
      SIMMESH_CHECK(!is_twice, "the field '{}' twice in one object", field.name);
    }
  return make({.type = Type::object,
               .fields = std::move(fields),
               .tag = std::move(tag),
               .choices = std::move(choices)});
}

Schema object_of(std::vector<Choice> choices) {
  return make({.type = Type::object, .choices = std::move(choices)});
}

Schema named(std::string name, Schema (*make_schema)()) {
  return make({.type = Type::named,
               .name = std::move(name),
               .make = make_schema,
               .made = std::make_shared<SchemaMade>()});
}

}  // namespace schema

}  // namespace simmesh
