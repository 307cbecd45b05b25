#include "checkpoint/torch_file/pickle.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

template <class... Args>
[[noreturn]] void refuse_pickle(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::value_error, "checkpoint/pickle",
              fmt::format(format, std::forward<Args>(args)...));
}

// PickleReader is the stack machine for which a pickle is written.
class PickleReader {
 public:
  PickleReader(Bytes bytes, const PickleDialect& dialect, std::deque<PickleNode>& nodes)
      : bytes_(bytes), dialect_(dialect), nodes_(nodes) {}

  PickleValue read() {
    while (true) {
      opcode_at_ = at_;
      std::uint8_t opcode = byte();
      if (dialect_.opcodes.find(char(opcode)) == dialect_.opcodes.npos)
        fail(fmt::format("the opcode 0x{:02x} is not one that is expected here", opcode));
      if (opcode == '.') break;
      if (!constant(opcode) && !text_value(opcode) && !tuple(opcode) && !container(opcode) &&
          !reference(opcode) && !object(opcode))
        fail(fmt::format("the opcode 0x{:02x} has no meaning", opcode));
    }
    PickleValue result = pop();
    if (!stack_.empty() || !marks_.empty()) fail("values are left over at the end");
    if (at_ != bytes_.size()) fail("there are bytes behind the end");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    refuse_pickle("byte {}: {}", opcode_at_, why);
  }

  std::uint8_t byte() {
    if (at_ >= bytes_.size()) fail("the pickle ends too early");
    return std::uint8_t(bytes_[at_++]);
  }
  std::uint64_t number(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::uint64_t(byte()) << (8 * i);
    return value;
  }
  std::string text(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("a text is longer than the pickle");
    std::string result(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
    at_ += count;
    return result;
  }
  std::string line() {
    std::string result;
    for (char c = char(byte()); c != '\n'; c = char(byte())) result += c;
    return result;
  }

  PickleNode& push(Kind kind, std::vector<PickleValue> items = {}) {
    PickleNode& node = nodes_.emplace_back();
    node.kind = kind;
    node.items = std::move(items);
    stack_.push_back(&node);
    return node;
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleNode* pop() {
    if (stack_.size() <= floor()) fail("there is no value to take");
    PickleNode* node = stack_.back();
    stack_.pop_back();
    return node;
  }
  PickleNode& top(Kind kind) {
    if (stack_.size() <= floor() || stack_.back()->kind != kind) fail("a container was expected");
    return *stack_.back();
  }
  // Returns everything above the last mark.
  std::vector<PickleValue> marked() {
    if (marks_.empty()) fail("there is no mark");
    std::vector<PickleValue> values(stack_.begin() + std::ptrdiff_t(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return values;
  }
  void remember(std::uint64_t place) {
    if (stack_.empty() || place > memo_.size()) fail("a memo is out of order");
    if (place == memo_.size()) memo_.push_back(nullptr);
    memo_[place] = stack_.back();
  }
  void recall(std::uint64_t place) {
    if (place >= memo_.size()) fail("a memo isn't there");
    stack_.push_back(memo_[place]);
  }

  bool constant(std::uint8_t opcode);
  bool text_value(std::uint8_t opcode);
  bool tuple(std::uint8_t opcode);
  bool container(std::uint8_t opcode);
  bool reference(std::uint8_t opcode);
  bool object(std::uint8_t opcode);
  void push_global(const std::string& module, const std::string& name);
  std::int64_t long_integer();
  double big_endian_double();

  Bytes bytes_;
  const PickleDialect& dialect_;
  std::deque<PickleNode>& nodes_;
  std::size_t at_ = 0, opcode_at_ = 0;
  std::vector<PickleNode*> stack_, memo_;
  std::vector<std::size_t> marks_;
};

std::int64_t PickleReader::long_integer() {
  int count = byte();
  if (count > 8) fail("an integer has more than 64 bits");
  std::uint64_t value = number(count);
  if (count > 0 && count < 8 && (value >> (8 * count - 1)) != 0)
    value |= ~std::uint64_t{0} << (8 * count);
  return std::int64_t(value);
}

double PickleReader::big_endian_double() {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = bits << 8 | byte();
  return std::bit_cast<double>(bits);
}

bool PickleReader::constant(std::uint8_t opcode) {
  switch (opcode) {
    case 0x80: number(1); return true;  // the protocol's number
    case 0x95: number(8); return true;  // a frame's length
    case 'N': push(Kind::none); return true;
    case 0x88: push(Kind::boolean).flag = true; return true;
    case 0x89: push(Kind::boolean); return true;
    case 'K': push(Kind::integer).integer = std::int64_t(number(1)); return true;
    case 'M': push(Kind::integer).integer = std::int64_t(number(2)); return true;
    case 'J': push(Kind::integer).integer = std::int32_t(number(4)); return true;
    case 0x8a: push(Kind::integer).integer = long_integer(); return true;
    case 'G': push(Kind::number).number = big_endian_double(); return true;
    default: return false;
  }
}

bool PickleReader::text_value(std::uint8_t opcode) {
  if (opcode != 0x8c && opcode != 'X') return false;
  std::string value = text(number(opcode == 'X' ? 4 : 1));
  push(Kind::text).text = std::move(value);
  return true;
}

bool PickleReader::tuple(std::uint8_t opcode) {
  if (opcode == ')') {
    push(Kind::tuple);
  } else if (opcode == 't') {
    std::vector<PickleValue> items = marked();
    push(Kind::tuple, std::move(items));
  } else if (opcode >= 0x85 && opcode <= 0x87) {
    std::vector<PickleValue> items(std::size_t(opcode - 0x84));
    for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
    push(Kind::tuple, std::move(items));
  } else {
    return false;
  }
  return true;
}

bool PickleReader::container(std::uint8_t opcode) {
  switch (opcode) {
    case '(': marks_.push_back(stack_.size()); return true;
    case '}': push(Kind::dict); return true;
    case ']': push(Kind::list); return true;
    case 'a': {
      PickleValue item = pop();
      top(Kind::list).items.push_back(item);
      return true;
    }
    case 's': {
      PickleValue item = pop(), key = pop();
      std::vector<PickleValue>& items = top(Kind::dict).items;
      items.push_back(key);
      items.push_back(item);
      return true;
    }
    case 'e':
    case 'u': {
      std::vector<PickleValue> added = marked();
      if (opcode == 'u' && added.size() % 2 != 0) fail("a key has no value");
      std::vector<PickleValue>& items = top(opcode == 'e' ? Kind::list : Kind::dict).items;
      items.insert(items.end(), added.begin(), added.end());
      return true;
    }
    default: return false;
  }
}

bool PickleReader::reference(std::uint8_t opcode) {
  switch (opcode) {
    case 0x94: remember(memo_.size()); return true;
    case 'q': remember(number(1)); return true;
    case 'r': remember(number(4)); return true;
    case 'h': recall(number(1)); return true;
    case 'j': recall(number(4)); return true;
    default: return false;
  }
}

void PickleReader::push_global(const std::string& module, const std::string& name) {
  std::string full = module + "." + name;
  auto names_it = [&](std::string_view known) {
    return known.ends_with('*') ? full.starts_with(known.substr(0, known.size() - 1))
                                : full == known;
  };
  if (!std::any_of(dialect_.globals.begin(), dialect_.globals.end(), names_it))
    fail(fmt::format("'{}' is no class or function that a checkpoint needs", full));
  push(Kind::global).text = std::move(full);
}

bool PickleReader::object(std::uint8_t opcode) {
  if (opcode == 'c') {
    std::string module = line(), name = line();
    push_global(module, name);
  } else if (opcode == 0x93) {
    PickleValue name = pop(), module = pop();
    push_global(as_text(module, "a module"), as_text(name, "a name"));
  } else if (opcode == 'R' || opcode == 0x81) {
    PickleValue arguments = pop(), callable = pop();
    if (callable->kind != Kind::global || arguments->kind != Kind::tuple)
      fail("what is called is no class or function");
    if (callable->text == "collections.OrderedDict" && arguments->items.empty())
      push(Kind::dict);
    else
      push(Kind::object, {callable, arguments});
  } else if (opcode == 'b') {
    PickleValue state = pop();
    // Attributes of a dict are ignored, such as "_metadata" of a module's tensors.
    if (stack_.size() > floor() && stack_.back()->kind == Kind::dict) return true;
    std::vector<PickleValue>& items = top(Kind::object).items;
    if (items.size() != 2) fail("an object has its state already");
    items.push_back(state);
  } else if (opcode == 'Q') {
    PickleValue id = pop();
    push(Kind::persistent, {id});
  } else {
    return false;
  }
  return true;
}

std::string_view name_of(Kind kind) {
  constexpr std::string_view names[] = {"None",    "a flag",    "an integer",     "a number",
                                        "a text",  "a list",    "a tuple",        "a dict",
                                        "a class", "an object", "a persistent id"};
  return names[std::size_t(kind)];
}

void expect(bool holds, std::string_view what, std::string_view expected, PickleValue value) {
  if (!holds) refuse_pickle("{}: expected {}, got {}", what, expected, name_of(value->kind));
}

}  // namespace

Pickle::Pickle(Bytes bytes, const PickleDialect& dialect) {
  root_ = PickleReader(bytes, dialect, nodes_).read();
}

std::int64_t as_integer(PickleValue value, std::string_view what) {
  expect(value->kind == Kind::integer, what, "an integer", value);
  return value->integer;
}

const std::string& as_text(PickleValue value, std::string_view what) {
  expect(value->kind == Kind::text, what, "a text", value);
  return value->text;
}

const std::vector<PickleValue>& as_items(PickleValue value, std::string_view what) {
  expect(value->kind == Kind::list || value->kind == Kind::tuple, what, "a list or tuple", value);
  return value->items;
}

std::vector<std::int64_t> as_integers(PickleValue value, std::string_view what) {
  std::vector<std::int64_t> numbers;
  for (PickleValue item : as_items(value, what)) numbers.push_back(as_integer(item, what));
  return numbers;
}

const std::vector<PickleValue>& as_object(PickleValue value, std::string_view callable) {
  expect(value->kind == Kind::object, callable, "an object", value);
  if (value->items[0]->text != callable)
    refuse_pickle("expected {}, got {}", callable, value->items[0]->text);
  return value->items;
}

PickleValue find_field(PickleValue dict, std::string_view key) {
  expect(dict->kind == Kind::dict, key, "a dict", dict);
  for (std::size_t i = 0; i < dict->items.size(); i += 2)
    if (dict->items[i]->kind == Kind::text && dict->items[i]->text == key)
      return dict->items[i + 1];
  return nullptr;
}

PickleValue field(PickleValue dict, std::string_view key) {
  PickleValue found = find_field(dict, key);
  if (found == nullptr) refuse_pickle("a dict without the key '{}'", key);
  return found;
}

}  // namespace simmesh::checkpoint
