#include <bit>
#include <charconv>
#include <fmt/format.h>

#include "checkpoint/torch_file/pickle.h"
#include "checkpoint/torch_file/pickle_values.h"
#include "checkpoint/torch_file/utf8.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

using Kind = PickleNode::Kind;

// PickleEnd is raised where the bytes end before the pickle does.
struct PickleEnd {};

// PickleReader is the stack machine for which a pickle is written.
class PickleReader {
 public:
  PickleReader(Bytes bytes, std::deque<PickleNode>& nodes)
      : bytes_(bytes), nodes_(nodes), copies_left_(copies_for_each * bytes.size()) {}

  PickleValue read() {
    while (true) {
      opcode_at_ = at_;
      std::uint8_t opcode = byte();
      if (opcode == '.') break;
      if (!constant(opcode) && !number_line(opcode) && !text_value(opcode) &&
          !bytes_value(opcode) && !tuple(opcode) && !container(opcode) && !addition(opcode) &&
          !stack(opcode) && !reference(opcode) && !name(opcode) && !object(opcode))
        fail(fmt::format("the opcode 0x{:02x} has no meaning", opcode));
    }
    PickleValue result = pop();
    if (!stack_.empty() || !marks_.empty()) fail("values are left over at the end");
    return result;
  }

  std::size_t length() const { return at_; }
  [[noreturn]] void fail(std::string_view why) const {
    raise(ErrorKind::value_error, "checkpoint/pickle", "byte {}: {}", opcode_at_, why);
  }

 private:
  std::uint8_t byte() {
    if (at_ >= bytes_.size()) throw PickleEnd();
    return std::uint8_t(bytes_[at_++]);
  }
  std::uint64_t number(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::uint64_t(byte()) << (8 * i);
    return value;
  }
  std::string_view text(std::uint64_t count) {
    if (count > bytes_.size() - at_) throw PickleEnd();
    std::string_view result(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
    at_ += count;
    return result;
  }
  std::string_view line() {
    std::size_t begin = at_;
    while (byte() != '\n') {
    }
    std::string_view result(reinterpret_cast<const char*>(bytes_.data()) + begin, at_ - begin - 1);
    if (result.ends_with('\r')) result.remove_suffix(1);
    return result;
  }

  PickleNode& push(Kind kind, std::vector<PickleValue> items = {}) {
    PickleNode& node = nodes_.emplace_back();
    node.kind = kind;
    node.items = std::move(items);
    stack_.push_back(&node);
    return node;
  }
  PickleNode& push_text(Kind kind, std::string_view value) {
    PickleNode& node = push(kind);
    node.text = value;
    return node;
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleNode* pop() {
    if (stack_.size() <= floor()) fail("there is no value to take");
    PickleNode* node = stack_.back();
    stack_.pop_back();
    return node;
  }
  PickleNode& top() {
    if (stack_.size() <= floor()) fail("there is no value to take");
    return *stack_.back();
  }
  // Returns the container that gets items. An object that gets some is one of a subclass.
  PickleNode& top(Kind kind) {
    PickleNode& node = top();
    if (node.kind == Kind::object && kind != Kind::set) {
      node.text = class_of(&node);
      node.items.clear();
      node.kind = kind;
    }
    if (node.kind != kind) fail("a container was expected");
    return node;
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
    // Python numbers its memos from 0 or 1 on, one for each opcode at most.
    if (stack_.empty() || place > bytes_.size()) fail("a memo is out of order");
    if (place >= memo_.size()) memo_.resize(place + 1);
    memo_[place] = stack_.back();
    memo_next_ = std::max<std::size_t>(memo_next_, place + 1);
  }
  void recall(std::uint64_t place) {
    if (place >= memo_.size() || memo_[place] == nullptr) fail("a memo isn't there");
    stack_.push_back(memo_[place]);
  }
  std::uint64_t place_line() {
    std::string_view digits = line();
    std::uint64_t place = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("a memo has no number");
    return place;
  }

  bool constant(std::uint8_t opcode);
  bool number_line(std::uint8_t opcode);
  bool text_value(std::uint8_t opcode);
  bool bytes_value(std::uint8_t opcode);
  bool tuple(std::uint8_t opcode);
  bool container(std::uint8_t opcode);
  bool addition(std::uint8_t opcode);
  bool stack(std::uint8_t opcode);
  bool reference(std::uint8_t opcode);
  bool name(std::uint8_t opcode);
  bool object(std::uint8_t opcode);
  void call(PickleValue callable, PickleValue arguments) {
    set_to_call(push(Kind::object), callable, arguments, copies_left_);
  }
  void push_legacy_text(std::string_view value) {
    push_text(is_utf8(value) ? Kind::text : Kind::bytes, value);
  }
  double big_endian_double();

  // Bytes of old protocols are copied twice: from a text, and into a bytearray.
  static constexpr std::size_t copies_for_each = 4;
  Bytes bytes_;
  std::deque<PickleNode>& nodes_;
  std::size_t copies_left_, at_ = 0, opcode_at_ = 0, memo_next_ = 0;
  std::vector<PickleNode*> stack_, memo_;
  std::vector<std::size_t> marks_;
};

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
    case 0x8a:
    case 0x8b: {
      std::string_view bytes = text(number(opcode == 0x8a ? 1 : 4));
      set_to_integer(push(Kind::integer), bytes);
      return true;
    }
    case 'G': {
      double value = big_endian_double();
      push(Kind::number).number = value;
      return true;
    }
    default: return false;
  }
}

// Reads numbers as lines of text, as protocol 0 has them. 00 and 01 are flags.
bool PickleReader::number_line(std::uint8_t opcode) {
  if (opcode != 'I' && opcode != 'L' && opcode != 'F') return false;
  std::string_view digits = line();
  if (opcode == 'F') {
    double value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail("a number has no digits");
    push(Kind::number).number = value;
  } else if (opcode == 'I' && (digits == "00" || digits == "01")) {
    push(Kind::boolean).flag = digits == "01";
  } else if (!set_to_digits(push(Kind::integer), digits)) {
    fail("an integer has no digits");
  }
  return true;
}

bool PickleReader::text_value(std::uint8_t opcode) {
  switch (opcode) {
    case 0x8c: push_text(Kind::text, text(number(1))); return true;
    case 'X': push_text(Kind::text, text(number(4))); return true;
    case 0x8d: push_text(Kind::text, text(number(8))); return true;
    case 'V': push_text(Kind::text, unescaped(line())); return true;
    // Python 2 wrote texts as bytes.
    case 'U': push_legacy_text(text(number(1))); return true;
    case 'T': push_legacy_text(text(number(4))); return true;
    case 'S': {
      std::string value;
      if (!unquoted(line(), value)) fail("a text has no quotes");
      push_legacy_text(value);
      return true;
    }
    default: return false;
  }
}

bool PickleReader::bytes_value(std::uint8_t opcode) {
  switch (opcode) {
    case 'C': push_text(Kind::bytes, text(number(1))); return true;
    case 'B': push_text(Kind::bytes, text(number(4))); return true;
    case 0x8e:
    case 0x96: push_text(Kind::bytes, text(number(8))); return true;
    case 0x97: push_text(Kind::global, "pickle.PickleBuffer"); return true;  // outside the pickle
    case 0x98: top(); return true;  // the buffer above is only read
    default: return false;
  }
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
    case '}': push(Kind::dict); return true;
    case ']': push(Kind::list); return true;
    case 0x8f: push(Kind::set); return true;
    case 'd':
    case 'l':
    case 0x91: {
      std::vector<PickleValue> items = marked();
      if (opcode == 'd' && items.size() % 2 != 0) fail("a key has no value");
      push(opcode == 'd' ? Kind::dict : opcode == 'l' ? Kind::list : Kind::set, std::move(items));
      return true;
    }
    default: return false;
  }
}

// Reads the opcodes that add to a container.
bool PickleReader::addition(std::uint8_t opcode) {
  switch (opcode) {
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
    case 'u':
    case 0x90: {
      std::vector<PickleValue> added = marked();
      if (opcode == 'u' && added.size() % 2 != 0) fail("a key has no value");
      Kind kind = opcode == 'e' ? Kind::list : opcode == 'u' ? Kind::dict : Kind::set;
      std::vector<PickleValue>& items = top(kind).items;
      items.insert(items.end(), added.begin(), added.end());
      return true;
    }
    default: return false;
  }
}

bool PickleReader::stack(std::uint8_t opcode) {
  switch (opcode) {
    case '(': marks_.push_back(stack_.size()); return true;
    case '1': marked(); return true;
    case '2': stack_.push_back(&top()); return true;
    case '0':
      if (!marks_.empty() && stack_.size() == floor())
        marks_.pop_back();
      else
        pop();
      return true;
    default: return false;
  }
}

bool PickleReader::reference(std::uint8_t opcode) {
  switch (opcode) {
    case 0x94: remember(memo_next_); return true;
    case 'p': remember(place_line()); return true;
    case 'q': remember(number(1)); return true;
    case 'r': remember(number(4)); return true;
    case 'g': recall(place_line()); return true;
    case 'h': recall(number(1)); return true;
    case 'j': recall(number(4)); return true;
    default: return false;
  }
}

// Reads the opcodes that name a class, a function, or a value outside the pickle.
bool PickleReader::name(std::uint8_t opcode) {
  switch (opcode) {
    case 'c': {
      std::string_view module = line(), name = line();
      push_text(Kind::global, current_name(module, name));
      return true;
    }
    case 0x93: {
      PickleValue name = pop(), module = pop();
      push_text(Kind::global, current_name(as_text(module, "a module"), as_text(name, "a name")));
      return true;
    }
    case 0x82:
    case 0x83:
    case 0x84: {
      std::uint64_t code = number(1 << (opcode - 0x82));
      push_text(Kind::global, fmt::format("copyreg.extension_{}", code));
      return true;
    }
    case 'P': {
      std::string_view id = line();
      PickleNode& value = nodes_.emplace_back();
      value.kind = Kind::text;
      value.text = id;
      push(Kind::persistent, {&value});
      return true;
    }
    case 'Q': {
      PickleValue id = pop();
      push(Kind::persistent, {id});
      return true;
    }
    default: return false;
  }
}

bool PickleReader::object(std::uint8_t opcode) {
  if (opcode == 'R' || opcode == 0x81) {
    PickleValue arguments = pop(), callable = pop();
    if (arguments->kind != Kind::tuple) fail("the arguments of a call are no tuple");
    call(callable, arguments);
  } else if (opcode == 0x92) {
    pop();  // the arguments by keyword
    PickleValue arguments = pop(), callable = pop();
    if (arguments->kind != Kind::tuple) fail("the arguments of a call are no tuple");
    call(callable, arguments);
  } else if (opcode == 'i' || opcode == 'o') {
    PickleNode& callable = nodes_.emplace_back();
    callable.kind = Kind::global;
    if (opcode == 'i') {
      std::string_view module = line(), name = line();
      callable.text = current_name(module, name);
    }
    PickleNode& arguments = nodes_.emplace_back();
    arguments.kind = Kind::tuple;
    arguments.items = marked();
    if (opcode == 'i') {
      call(&callable, &arguments);
      return true;
    }
    if (arguments.items.empty()) fail("an object has no class");
    PickleValue made_by = arguments.items.front();
    arguments.items.erase(arguments.items.begin());
    call(made_by, &arguments);
  } else if (opcode == 'b') {
    PickleValue state = pop();
    // Attributes of a container are ignored, such as "_metadata" of a module's tensors.
    PickleNode& node = top();
    if (node.kind == Kind::object && node.items.size() == 2) node.items.push_back(state);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Pickle::Pickle(Bytes bytes) {
  PickleReader reader(bytes, nodes_);
  try {
    root_ = reader.read();
  } catch (const PickleEnd&) {
    reader.fail("the pickle ends too early");
  }
  if (reader.length() != bytes.size()) reader.fail("there are bytes behind the end");
}

std::optional<Pickle> Pickle::first(Bytes bytes, std::size_t& length) {
  Pickle pickle;
  PickleReader reader(bytes, pickle.nodes_);
  try {
    pickle.root_ = reader.read();
  } catch (const PickleEnd&) {
    return std::nullopt;
  }
  length = reader.length();
  return pickle;
}

}  // namespace simmesh::checkpoint
