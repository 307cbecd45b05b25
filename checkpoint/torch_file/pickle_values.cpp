#include "checkpoint/torch_file/pickle_values.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "checkpoint/torch_file/utf8.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

// An integer with more bytes is written in hexadecimal digits, in time that grows with them.
constexpr std::size_t decimal_bytes_max = 128;

bool is_sequence(PickleValue value) {
  return value->kind == Kind::list || value->kind == Kind::tuple || value->kind == Kind::set;
}

// Adds the entries of the argument of a mapping: a dict, or a list of pairs. False for others.
bool add_entries(PickleNode& node, PickleValue value) {
  if (value->kind == Kind::dict) {
    node.items = value->items;
    return true;
  }
  if (!is_sequence(value)) return false;
  for (PickleValue pair : value->items)
    if (!is_sequence(pair) || pair->items.size() != 2) return false;
  for (PickleValue pair : value->items)
    node.items.insert(node.items.end(), {pair->items[0], pair->items[1]});
  return true;
}

// True for an object of a subclass as protocols 0 and 1 have it: the class, its base, and what the
// base makes of it.
bool is_of_subclass(std::string_view name, const std::vector<PickleValue>& args,
                    std::string_view base, Kind kind) {
  return name == "copyreg._reconstructor" && args.size() == 3 && args[1]->text == base &&
         args[2]->kind == kind;
}

bool set_to_mapping(PickleNode& node, std::string_view name, const std::vector<PickleValue>& args) {
  if (is_of_subclass(name, args, "builtins.dict", Kind::dict)) {
    node.kind = Kind::dict;
    return add_entries(node, args[2]);
  }
  bool is_default = name == "collections.defaultdict";
  if (!is_default && name != "collections.OrderedDict" && name != "collections.Counter" &&
      name != "builtins.dict")
    return false;
  std::size_t first = is_default ? 1 : 0;
  if (args.size() > first + 1) return false;
  if (args.size() == first + 1 && !add_entries(node, args[first])) return false;
  node.kind = Kind::dict;
  return true;
}

bool set_to_sequence(PickleNode& node, std::string_view name,
                     const std::vector<PickleValue>& args) {
  if (is_of_subclass(name, args, "builtins.list", Kind::list)) {
    node.kind = Kind::list;
    node.items = args[2]->items;
    return true;
  }
  bool is_deque = name == "collections.deque";
  Kind kind = name == "builtins.set" || name == "builtins.frozenset" ? Kind::set
              : name == "builtins.tuple"                             ? Kind::tuple
              : name == "builtins.list" || is_deque                  ? Kind::list
                                                                     : Kind::none;
  if (kind == Kind::none || args.size() > (is_deque ? 2u : 1u)) return false;
  if (!args.empty() && !is_sequence(args[0])) return false;
  node.kind = kind;
  if (!args.empty()) node.items = args[0]->items;
  return true;
}

// Protocols before 3 have bytes as a text of which each character is a byte.
bool set_to_bytes(PickleNode& node, std::string_view name, const std::vector<PickleValue>& args) {
  bool is_encoded = name == "_codecs.encode", is_array = name == "builtins.bytearray";
  if (!is_encoded && !is_array && name != "builtins.bytes") return false;
  if (args.empty() && !is_encoded) {
    node.kind = Kind::bytes;
    return true;
  }
  if (args.size() == 1 && args[0]->kind == Kind::bytes) {
    node.kind = Kind::bytes;
    node.text = args[0]->text;
    return true;
  }
  if (args.size() != 2 || args[0]->kind != Kind::text || args[1]->kind != Kind::text) return false;
  if (args[1]->text != "latin1" && args[1]->text != "latin-1") return false;
  std::optional<std::string> bytes = latin1_of(args[0]->text);
  if (!bytes) return false;
  node.kind = Kind::bytes;
  node.text = std::move(*bytes);
  return true;
}

}  // namespace

void set_to_call(PickleNode& node, PickleValue callable, PickleValue arguments,
                 std::size_t& copies_left) {
  std::size_t copies = 0;
  for (PickleValue argument : arguments->items)
    copies = std::max(copies, argument->items.size() + argument->text.size());
  if (callable->kind == Kind::global && copies <= copies_left) {
    const std::string& name = callable->text;
    const std::vector<PickleValue>& args = arguments->items;
    if (set_to_mapping(node, name, args) || set_to_sequence(node, name, args) ||
        set_to_bytes(node, name, args)) {
      copies_left -= copies;
      return;
    }
    node.items.clear();
  }
  node.kind = Kind::object;
  node.items = {callable, arguments};
}

std::string current_name(std::string_view module, std::string_view name) {
  struct Renamed {
    std::string_view old, now;
  };
  constexpr Renamed modules[] = {
      {"__builtin__", "builtins"}, {"copy_reg", "copyreg"}, {"pathlib._local", "pathlib"}};
  std::string full(module);
  for (const Renamed& renamed : modules)
    if (module == renamed.old) full = renamed.now;
  // Protocols before 3 have the names of Python 2.
  constexpr Renamed functions[] = {{"xrange", "range"}, {"unicode", "str"}, {"long", "int"}};
  if (module == "__builtin__")
    for (const Renamed& renamed : functions)
      if (name == renamed.old) name = renamed.now;
  if (constexpr std::string_view old = "numpy.core."; full.starts_with(old))
    full.replace(0, old.size(), "numpy._core.");
  return full.append(".").append(name);
}

bool set_to_digits(PickleNode& node, std::string_view digits) {
  if (digits.ends_with('L')) digits.remove_suffix(1);
  std::string_view unsigned_digits = digits;
  if (unsigned_digits.starts_with('-')) unsigned_digits.remove_prefix(1);
  bool is_hexadecimal = unsigned_digits.starts_with("0x");
  if (is_hexadecimal) unsigned_digits.remove_prefix(2);
  auto is_digit = [&](char c) {
    return (c >= '0' && c <= '9') || (is_hexadecimal && c >= 'a' && c <= 'f');
  };
  if (unsigned_digits.empty() ||
      !std::all_of(unsigned_digits.begin(), unsigned_digits.end(), is_digit))
    return false;
  node.kind = Kind::integer;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), node.integer, 10);
  if (error == std::errc() && end == digits.data() + digits.size()) return true;
  node.kind = Kind::wide_integer;
  node.text = digits;
  return true;
}

namespace {

std::string hexadecimal(const std::vector<std::uint8_t>& little_endian) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "0x";
  for (auto byte = little_endian.rbegin(); byte != little_endian.rend(); ++byte) {
    text += digits[*byte >> 4];
    text += digits[*byte & 15];
  }
  return text;
}

std::string decimal(std::vector<std::uint8_t> magnitude) {
  std::string text;
  while (!magnitude.empty()) {
    unsigned rest = 0;
    for (auto byte = magnitude.rbegin(); byte != magnitude.rend(); ++byte) {
      rest = rest << 8 | *byte;
      *byte = std::uint8_t(rest / 10);
      rest %= 10;
    }
    text += char('0' + rest);
    while (!magnitude.empty() && magnitude.back() == 0) magnitude.pop_back();
  }
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

void set_to_integer(PickleNode& node, std::string_view little_endian) {
  bool is_negative = !little_endian.empty() && std::uint8_t(little_endian.back()) >> 7 != 0;
  if (little_endian.size() <= 8) {
    std::uint64_t value = is_negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = little_endian.size(); i-- > 0;)
      value = value << 8 | std::uint8_t(little_endian[i]);
    node.kind = Kind::integer;
    node.integer = std::int64_t(value);
    return;
  }
  std::vector<std::uint8_t> magnitude(little_endian.begin(), little_endian.end());
  if (is_negative) {
    unsigned carry = 1;
    for (std::uint8_t& byte : magnitude) {
      carry += std::uint8_t(~byte);
      byte = std::uint8_t(carry);
      carry >>= 8;
    }
  }
  node.kind = Kind::wide_integer;
  while (!magnitude.empty() && magnitude.back() == 0) magnitude.pop_back();
  std::string digits =
      magnitude.size() > decimal_bytes_max ? hexadecimal(magnitude) : decimal(std::move(magnitude));
  // A few bytes too many may still be a number of 64 bits.
  set_to_digits(node, (is_negative ? "-" : "") + (digits.empty() ? "0" : digits));
}

namespace {

int hexadecimal_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns the number of hexadecimal digits from a place on; nullopt if there are fewer.
std::optional<char32_t> escaped_number(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  char32_t number = 0;
  for (char c : text.substr(at, count)) {
    int value = hexadecimal_value(c);
    if (value < 0) return std::nullopt;
    number = number << 4 | char32_t(value);
  }
  return number;
}

}  // namespace

bool unquoted(std::string_view line, std::string& text) {
  if (line.size() < 2 || line.front() != line.back() ||
      (line.front() != '\'' && line.front() != '"'))
    return false;
  line = line.substr(1, line.size() - 2);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      text += line[i];
      continue;
    }
    constexpr std::string_view letters = "ntrabfv0", meant("\n\t\r\a\b\f\v\0", 8);
    char letter = line[++i];
    if (std::size_t known = letters.find(letter); known != letters.npos) {
      text += meant[known];
    } else if (auto number = letter == 'x' ? escaped_number(line, i + 1, 2) : std::nullopt) {
      text += char(*number);
      i += 2;
    } else {
      if (letter != '\\' && letter != '\'' && letter != '"') text += '\\';
      text += letter;
    }
  }
  return true;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char letter = line[i] == '\\' && i + 1 < line.size() ? line[i + 1] : '\0';
    std::size_t count = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    std::optional<char32_t> number;
    if (count > 0) number = escaped_number(line, i + 2, count);
    if (number && *number < 0x110000) {
      append_utf8(text, *number);
      i += 1 + count;
    } else {
      append_utf8(text, std::uint8_t(line[i]));
    }
  }
  return text;
}

}  // namespace simmesh::checkpoint
