#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace simmesh {

struct SchemaNode;

// Schema is the set of values that a field of a recorded case may have. It is written once, beside
// the code that reads the field; it is checked before that code runs (schema_check.h) and printed
// as a page (schema_page.h). A cheap value.
//
//   using namespace schema;
//   Schema error = object({expected("error", word({"ValueError", "KeyError"})),
//                          expected("message_contains", text())});
using Schema = std::shared_ptr<const SchemaNode>;

namespace schema {

// Range bounds integers, Count the number of a list's entries.
struct Range {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
struct Count {
  std::size_t min = 0;
  std::size_t max = std::numeric_limits<std::size_t>::max();
};

// Field is one field of an object.
struct Field {
  std::string name;
  Schema value;
  bool is_optional = false;
  // True for a result, which is compared; any other field is an instruction.
  bool is_expected = false;
  // The field that replaces it: exactly one of the two is present.
  std::string otherwise = {};
  // Why a change of it may change no result, why leaving it out may, and why one entry less of a
  // list may; empty where they must.
  std::string why_idle = {};
  std::string why_absent = {};
  std::string why_fewer = {};

  // unless makes a field that is present exactly where the other one isn't.
  Field unless(std::string other) const;
  // or_absent makes a field that may be missing.
  Field or_absent() const;
  // or_absent with the reason for which nothing is compared then.
  Field or_absent(std::string why) const;
  // or_fewer makes a list that may have an entry less, with the reason.
  Field or_fewer(std::string why) const;
  // because makes a field that may change without changing a result, with the reason: "a label".
  Field because(std::string why) const;
};
using Fields = std::vector<Field>;

// required is an instruction, optional one that may be missing; expected holds a result.
Field required(std::string name, Schema value);
Field optional(std::string name, Schema value);
Field expected(std::string name, Schema value);
// label is an instruction for human readers, optional or not, which changes no result.
Field label(std::string name, Schema value);

// Choice is the further fields of an object in which a field has a certain word, or which has the
// field of that name.
struct Choice {
  std::string word;
  Fields fields;
};

// Types of values, one word for each. A text has at least one byte; a seed is an integer of 64 bits
// without sign; a figure is a number, "inf", "-inf" or "nan"; a hash has 16 hex digits.
Schema flag();
Schema yes();  // true and nothing else
Schema null();
Schema integer(Range range = {});
Schema seed();
Schema number();
Schema number_in(double min, double max);
Schema figure();
Schema text();
Schema any_text();  // may be empty
Schema any();       // any JSON value
Schema hash();
// word is one of a list. Another word is well-formed but means nothing here.
Schema word(std::vector<std::string> words);
// spelled is a text that `parse` accepts: parse returns false, or raises an Error, for other texts.
Schema spelled(std::string what, std::function<bool(const std::string& text)> parse);

// list has entries of one kind, tuple a fixed number of entries of their own kinds, map fields of
// any names.
Schema list(Schema entry, Count count = {});
Schema tuple(std::vector<Schema> entries);
// tuple_by is one of several tuples: its first entry is the word of one, the further entries are
// that one's, of which the last `optional` may be missing.
struct TupleChoice {
  std::string word;
  std::vector<Schema> entries;
  std::size_t optional = 0;
};
Schema tuple_by(std::vector<TupleChoice> choices);
Schema map(Schema entry);
// either is the first of several that has the type of the value.
Schema either(std::vector<Schema> values);
Schema or_null(Schema value);

// object has the fields that are listed and no others.
Schema object(Fields fields);
// object_by also has the fields of the choice that the word in the field `tag` names.
Schema object_by(std::string tag, std::vector<Choice> choices, Fields fields = {});
// object_of has the fields of just one choice, the one whose own name is among them.
Schema object_of(std::vector<Choice> choices);

// named has a section of its own on the page; `make` is called when it is needed, so that a schema
// may contain itself.
Schema named(std::string name, Schema (*make)());

}  // namespace schema

// SchemaMade is the result of the function of a named schema, once any thread needed it.
struct SchemaMade {
  std::once_flag once;
  Schema schema = nullptr;
};

// SchemaNode is the node to which a Schema points.
struct SchemaNode {
  enum class Type : std::uint8_t {
    flag,
    yes,
    null,
    integer,
    seed,
    number,
    figure,
    text,
    any_text,
    any,
    hash,
    word,
    spelled,
    list,
    tuple,
    tuple_by,
    map,
    either,
    object,
    named
  };

  Type type;
  std::string name = {};  // of a spelled text, or of a section
  schema::Range range = {};
  double number_min = -std::numeric_limits<double>::infinity();
  double number_max = std::numeric_limits<double>::infinity();
  schema::Count count = {};
  std::vector<std::string> words = {};
  std::vector<Schema> parts = {};
  schema::Fields fields = {};
  std::string tag = {};  // the field that chooses; empty where the fields' names do
  std::vector<schema::Choice> choices = {};
  std::function<bool(const std::string& text)> parse = {};
  Schema (*make)() = nullptr;
  std::shared_ptr<SchemaMade> made = nullptr;  // of a named schema

  // resolved is the schema that a named one stands for, and else the schema itself.
  const SchemaNode& resolved() const;
  // find_choice returns the choice of a word; null for a word that isn't known.
  const schema::Choice* find_choice(std::string_view word) const;
};

}  // namespace simmesh
