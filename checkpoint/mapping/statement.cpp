#include "checkpoint/mapping/statement.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

constexpr std::int64_t heads_max = 1 << 16;

struct Token {
  enum class Type { name, text, negative, arrow, comma, equals, end };
  Type type;
  std::string text;
  std::size_t at;
};

// StatementParser reads the tokens of a statement.
class StatementParser {
 public:
  explicit StatementParser(std::string_view text) : text_(text) { next(); }

  Statement parse() {
    Statement statement;
    statement.text = std::string(text_);
    statement.left = names("a stored name");
    expect(Token::Type::arrow, "'->'");
    statement.right.push_back(take(Token::Type::name, "a name to load").text);
    while (token_.type == Token::Type::comma) {
      next();
      Token word = take(Token::Type::name, "a name or an attribute");
      if (token_.type == Token::Type::equals)
        attribute(word, statement);
      else if (!form(word, statement))
        add_right(word, statement);
    }
    expect(Token::Type::end, "the end");
    check(statement);
    return statement;
  }

 private:
  [[noreturn]] void refuse_at(std::size_t at, const std::string& why) const {
    raise(ErrorKind::value_error, "checkpoint/mapping", "'{}', character {}: {}", text_, at + 1,
          why);
  }
  void refuse_statement(const std::string& why) const {
    raise(ErrorKind::value_error, "checkpoint/mapping", "'{}': {}", text_, why);
  }

  void next();
  void quoted();
  Token take(Token::Type type, std::string_view what) {
    if (token_.type != type)
      refuse_at(token_.at,
                fmt::format("expected {}, got {}", what,
                            token_.type == Token::Type::end ? "the end" : "'" + token_.text + "'"));
    Token taken = token_;
    if (type != Token::Type::end) next();
    return taken;
  }
  void expect(Token::Type type, std::string_view what) { take(type, what); }
  std::vector<std::string> names(std::string_view what) {
    std::vector<std::string> result = {take(Token::Type::name, what).text};
    while (token_.type == Token::Type::comma) {
      next();
      result.push_back(take(Token::Type::name, what).text);
    }
    return result;
  }
  void add_right(const Token& word, Statement& statement) {
    if (is_in_attributes_) refuse_at(word.at, "expected an attribute, got '" + word.text + "'");
    statement.right.push_back(word.text);
  }
  bool form(const Token& word, Statement& statement);
  void attribute(const Token& name, Statement& statement);
  std::int64_t integer(const Token& value) const;
  std::vector<std::int64_t> list(const Token& value) const;
  DType cast_dtype(const Token& value) const;
  void check(const Statement& statement) const;

  std::string_view text_;
  std::size_t at_ = 0;
  Token token_;
  bool is_in_attributes_ = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
         c == '$' || c == '*';
}

void StatementParser::next() {
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  token_ = {Token::Type::end, "", at_};
  if (at_ == text_.size()) return;
  char c = text_[at_];
  if (c == ',' || c == '=') {
    token_ = {c == ',' ? Token::Type::comma : Token::Type::equals, std::string(1, c), at_};
    ++at_;
  } else if (text_.substr(at_, 2) == "->") {
    token_ = {Token::Type::arrow, "->", at_};
    at_ += 2;
  } else if (c == '"' || c == '\'') {
    quoted();
  } else if (c == '-' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
    token_ = {Token::Type::negative, "-", at_++};
    while (at_ < text_.size() && is_name_character(text_[at_])) token_.text += text_[at_++];
  } else if (is_name_character(c)) {
    token_.type = Token::Type::name;
    while (at_ < text_.size() && is_name_character(text_[at_])) token_.text += text_[at_++];
  } else {
    refuse_at(at_, fmt::format("'{}' is not expected here", c));
  }
}

void StatementParser::quoted() {
  char quote = text_[at_];
  std::size_t end = text_.find(quote, at_ + 1);
  if (end == text_.npos) refuse_at(at_, "a text without its closing quote");
  token_ = {Token::Type::text, std::string(text_.substr(at_ + 1, end - at_ - 1)), at_};
  at_ = end + 1;
}

bool StatementParser::form(const Token& word, Statement& statement) {
  if (word.text == "fused_ffn")
    statement.form = Statement::Form::fused_ffn;
  else if (word.text == "fused_qkv")
    statement.form = Statement::Form::fused_qkv;
  else if (word.text == "fused_qkv_old")
    statement.form = Statement::Form::fused_qkv_old;
  else
    return false;
  is_in_attributes_ = true;
  return true;
}

std::int64_t StatementParser::integer(const Token& value) const {
  std::int64_t number = 0;
  const char* end = value.text.data() + value.text.size();
  auto [stop, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc() || stop != end)
    refuse_at(value.at, "expected an integer, got '" + value.text + "'");
  return number;
}

std::vector<std::int64_t> StatementParser::list(const Token& value) const {
  std::string_view text = value.text;
  std::vector<std::int64_t> numbers;
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    refuse_at(value.at, "expected a list such as [1,0], got '" + value.text + "'");
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    std::size_t comma = std::min(text.find(','), text.size());
    std::string number(text.substr(0, comma));
    std::erase(number, ' ');
    numbers.push_back(integer({Token::Type::name, number, value.at}));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

DType StatementParser::cast_dtype(const Token& value) const {
  if (value.text == "float32") return DType::float32;
  if (value.text == "float16") return DType::float16;
  if (value.text == "bfloat16") return DType::bfloat16;
  refuse_at(value.at, "expected float32, float16 or bfloat16, got '" + value.text + "'");
}

void StatementParser::attribute(const Token& name, Statement& statement) {
  is_in_attributes_ = true;
  next();
  Token value = token_;
  if (value.type != Token::Type::name && value.type != Token::Type::text &&
      value.type != Token::Type::negative)
    take(Token::Type::text, "a value");
  next();
  if (name.text == "axis") {
    statement.axis = integer(value);
  } else if (name.text == "permute") {
    statement.permute = list(value);
  } else if (name.text == "dtype" || name.text == "dst_dtype") {
    statement.dtype = cast_dtype(value);
  } else if (name.text == "src_dtype") {
    cast_dtype(value);
  } else if (name.text == "num_heads") {
    statement.num_heads = integer(value);
  } else if (name.text == "num_key_value_groups") {
    statement.num_key_value_groups = integer(value);
  } else {
    refuse_at(name.at,
              "expected axis, permute, dtype, src_dtype, dst_dtype, num_heads or "
              "num_key_value_groups, got '" +
                  name.text + "'");
  }
}

void StatementParser::check(const Statement& statement) const {
  auto has_nothing = [](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "_") != names.end();
  };
  if ((has_nothing(statement.left) || has_nothing(statement.right)) &&
      (statement.left.size() != 1 || statement.right.size() != 1))
    refuse_statement("'_' is alone on its side, against one name");
  if (statement.left.size() > 1 && statement.right.size() > 1)
    refuse_statement("several names on both sides");
  bool has_star = std::any_of(statement.left.begin(), statement.left.end(),
                              [](const auto& name) { return name.find('*') != name.npos; });
  if (statement.form == Statement::Form::plain && !has_star &&
      (statement.left.size() > 1 || statement.right.size() > 1) && !statement.axis)
    refuse_statement("joining or cutting needs an axis");
  if (statement.form == Statement::Form::fused_qkv &&
      (statement.num_heads < 1 || statement.num_key_value_groups < 1 ||
       statement.num_heads % statement.num_key_value_groups != 0))
    refuse_statement("fused_qkv needs num_heads, a multiple of num_key_value_groups");
  if (statement.num_heads > heads_max)
    refuse_statement(fmt::format("expected at most {} heads", heads_max));
}

}  // namespace

Statement parse_statement(std::string_view text) { return StatementParser(text).parse(); }

}  // namespace simmesh::checkpoint
