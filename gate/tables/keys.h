#pragma once

#include <cstdint>
#include <gsl/span>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "core/check/error.h"
#include "core/tensor/shape.h"

namespace simmesh {

// BadGate is the error of a gate file that can't be run: it isn't valid TOML, a key is unknown, a
// value has a wrong type or is out of range, or parts don't fit together. Its message starts with
// [FILE:LINE:COLUMN].
class BadGate : public Error {
 public:
  BadGate(std::string_view where, std::string_view message)
      : Error(ErrorKind::value_error, where, message) {}
};

// GateTable reads one table of a gate file. Each accessor takes a key and the default for an absent
// key, and raises a BadGate for a value of another type or out of range. Asking for a key makes it
// known; `finish` refuses all unknown keys, so no key is ever ignored.
//
//   std::int64_t layers = table.integer("layers", 2, {1, 64});
//   table.finish();
class GateTable {
 public:
  struct Range {
    std::int64_t min;
    std::int64_t max;
  };
  struct NumberRange {
    double min;
    double max;
  };

  // The table must outlive this. path is the prefix of its keys in messages: "model".
  GateTable(const toml::table& table, std::string file, std::string path = "");

  bool has(std::string_view key);
  std::string text(std::string_view key, std::string otherwise);
  // word returns a string that must be one of the choices.
  std::string word(std::string_view key, std::string otherwise,
                   const std::vector<std::string>& choices);
  std::int64_t integer(std::string_view key, std::int64_t otherwise, Range range);
  double number(std::string_view key, double otherwise, NumberRange range);
  bool boolean(std::string_view key, bool otherwise);
  std::vector<std::string> texts(std::string_view key);
  // rows returns a list whose entries are strings or lists of strings. A single string is a row of
  // one. rows_with_integers also accepts integers in the inner lists, and returns their digits.
  std::vector<std::vector<std::string>> rows(std::string_view key);
  std::vector<std::vector<std::string>> rows_with_integers(std::string_view key);
  std::vector<double> numbers(std::string_view key);
  // sizes returns a list of at most dims_max integers in the range.
  Shape sizes(std::string_view key, Shape otherwise, Range range);
  // table returns the table under a key, nullopt if it is absent. tables also accepts a list of
  // tables.
  std::optional<GateTable> table(std::string_view key);
  std::vector<GateTable> tables(std::string_view key);
  // texts_or_tables returns a list in which each entry is a string or a table.
  struct TextOrTable;
  std::vector<TextOrTable> texts_or_tables(std::string_view key);
  // value returns the value of any type, null if the key is absent.
  const toml::node* value(std::string_view key);

  // refuse raises if the key is present, because this program doesn't have what the key needs.
  void refuse(std::string_view key, std::string_view needs);
  // finish raises for the first unknown key of the file, and names the nearest known key.
  void finish() const;
  // reject raises: "key 'model.heads': expected EXPECTED, got 3".
  [[noreturn]] void reject(std::string_view key, std::string_view expected) const;
  // reject_value raises the same, with `got` in place of the value.
  [[noreturn]] void reject_value(std::string_view key, std::string_view expected,
                                 std::string_view got) const;

  // keys returns all keys in alphabetical order; path_of returns the whole path of a key.
  std::vector<std::string> keys() const;
  std::string path_of(std::string_view key) const;
  const std::string& file() const { return file_; }
  // place returns FILE:LINE:COLUMN of the table. place_of returns that of the value of a key, or of
  // the table if the key is absent.
  std::string place() const;
  std::string place_of(std::string_view key) const;

 private:
  [[noreturn]] void reject_at(const toml::node& node, std::string_view key,
                              std::string_view expected, std::string_view got) const;
  const toml::array* list(std::string_view key, std::string_view expected);
  std::vector<std::vector<std::string>> read_rows(std::string_view key, bool takes_integers);

  const toml::table* table_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

// TextOrTable is an entry of a list of strings and tables. text counts if table is absent. place is
// its FILE:LINE:COLUMN.
struct GateTable::TextOrTable {
  std::string place;
  std::string text;
  std::optional<GateTable> table;
};

// gate_bytes_max is the number of bytes that a gate file has at most.
inline constexpr std::size_t gate_bytes_max = std::size_t(1) << 20;

// parse_toml parses TOML of at most 1 MiB. Raises a BadGate with the place of the mistake.
toml::table parse_toml(std::string_view text, const std::string& file);

// nearest returns the candidate with the smallest edit distance, the first of equals; empty for
// none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace simmesh
