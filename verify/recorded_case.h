#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/error.h"
#include "core/tensor/shape.h"
#include "verify/verdict/case_place.h"

namespace simmesh {

// BadCase says that a recorded case can't be read: malformed text, a missing field, a wrong type, a
// size that no machine holds. Unlike a case that fails, it ends the command.
class BadCase : public Error {
 public:
  BadCase(std::string_view where, std::string_view message)
      : Error(ErrorKind::value_error, where, message) {}
};

// CaseDocument is the text of a case as values, and its place.
struct CaseDocument;

// CaseField is one value inside a recorded case. Each accessor returns the value as one type and
// raises a BadCase that names file, line and field where the value has another type. Read all
// fields before starting a World: a BadCase raised on a rank would look like the rank's failure. A
// cheap value; must not outlive its case.
class CaseField {
 public:
  struct Range {
    std::int64_t min;
    std::int64_t max;
  };

  CaseField(const nlohmann::json& value, const CaseDocument& document)
      : value_(&value), document_(&document) {}

  // operator[] returns a field of an object, which must have it.
  CaseField operator[](std::string_view name) const;
  // find returns a field of an object; nullopt where it is missing. A null isn't missing.
  std::optional<CaseField> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // keys returns the names of an object's fields, in ascending order.
  std::vector<std::string> keys() const;
  // size is the number of an object's fields or a list's entries.
  std::size_t size() const;

  // items returns the entries of a list.
  std::vector<CaseField> items() const;
  // items of a list with a bounded number of entries.
  std::vector<CaseField> items(std::size_t count_max) const;

  bool is_null() const;
  bool is_text() const;
  bool is_list() const;
  bool is_object() const;
  bool is_boolean() const;
  bool is_integer() const;
  bool is_number() const;

  std::string text() const;
  bool boolean() const;
  double number() const;
  std::int64_t integer() const;
  std::int64_t integer(Range range) const;
  std::uint64_t unsigned64() const;

  // integers returns a list of integers, dims a short one, texts a short list of strings.
  std::vector<std::int64_t> integers() const;
  Dims dims() const;
  std::vector<std::string> texts() const;
  // shape returns a list of sizes of at least 0 that multiply to fewer than 2^63.
  Shape shape() const;

  const nlohmann::json& value() const { return *value_; }
  // path returns the names and indices that lead here: "mesh.shape.0"; empty for the whole case. It
  // is searched for on demand, so that a field without errors costs nothing.
  std::string path() const;

  // reject raises a BadCase: "field 'mesh.shape': expected EXPECTED, got VALUE".
  [[noreturn]] void reject(std::string_view expected) const;

 private:
  const nlohmann::json* value_;
  const CaseDocument* document_;
};

// RecordedCase is one recorded case: an object with a kind and an id.
//
//   RecordedCase recorded = RecordedCase::parse(line, {.file = "mesh.jsonl", .line = 12});
//   Shape shape = recorded["tensor"]["shape"].shape();
//   if (auto order = recorded.find("from_order")) ...
class RecordedCase {
 public:
  // parse reads one case. Raises a BadCase for text that isn't a JSON object with the strings kind
  // and id.
  static RecordedCase parse(std::string_view text, CasePlace place);

  // with_value returns a case with other contents at the same place. Raises a BadCase for a value
  // that isn't an object with the strings kind and id.
  RecordedCase with_value(nlohmann::json value) const;

  const std::string& kind() const { return kind_; }
  const std::string& id() const { return id_; }
  const CasePlace& place() const;

  CaseField root() const;
  // keys_in_order returns the names of a field's own fields as they stand in the text, for a state
  // dict, in which their order counts.
  std::vector<std::string> keys_in_order(const std::string& field) const;
  CaseField operator[](std::string_view name) const { return root()[name]; }
  std::optional<CaseField> find(std::string_view name) const { return root().find(name); }
  bool has(std::string_view name) const { return root().has(name); }

 private:
  explicit RecordedCase(std::shared_ptr<const CaseDocument> document);

  std::shared_ptr<const CaseDocument> document_;
  std::string kind_;
  std::string id_;
};

}  // namespace simmesh
