#include "tests/tidy/declarations.h"

#include <algorithm>
#include <cctype>

namespace simmesh::tidy {
namespace {

enum class ScopeKind { name_space, type, function, initializer };

struct Scope {
  ScopeKind kind;
  std::string head;
  std::size_t first_line;
  bool is_accessible = true;  // what is declared next in it
};

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word &&
         (text.size() == word.size() || !is_identifier_char(text[word.size()]));
}

bool starts_type(std::string_view head) {
  head = without_template(head);
  for (std::string_view word : {"class", "struct", "union", "enum"})
    if (starts_with_word(head, word)) return true;
  return false;
}

bool is_class(std::string_view head) { return starts_with_word(without_template(head), "class"); }

// in_initializer_list is true if the head of a constructor ends at a member that is initialised
// with braces.
bool in_initializer_list(std::string_view head) {
  std::size_t close = head.find(')');
  if (close == head.npos || head.find("->") != head.npos) return false;
  if (!is_identifier_char(head.back()) && head.back() != '>') return false;
  for (std::size_t i = close; i + 1 < head.size(); ++i)
    if (head[i] == ':' && head[i - 1] != ':' && head[i + 1] != ':') return true;
  return false;
}

ScopeKind kind_of_brace(std::string_view head) {
  if (starts_with_word(head, "namespace") || starts_with_word(head, "inline namespace"))
    return ScopeKind::name_space;
  if (starts_with_word(head, "extern") && head.find('(') == head.npos) return ScopeKind::name_space;
  if (starts_type(head)) return ScopeKind::type;
  if (head.empty() || in_initializer_list(head)) return ScopeKind::initializer;
  if (head.back() == ']') return ScopeKind::function;  // a lambda without parameters
  if (head.back() == '=' || head.find('(') == head.npos) return ScopeKind::initializer;
  return ScopeKind::function;
}

class Reader {
 public:
  explicit Reader(const SourceFile& file) : file_(file) {}

  std::vector<Declaration> read() {
    bool directive = false;
    for (line_ = 1; line_ <= file_.code().size(); ++line_) {
      const std::string& text = file_.code()[line_ - 1];
      directive = directive || (!trimmed(text).empty() && trimmed(text).front() == '#');
      if (!directive)
        for (char c : text) take(c);
      if (directive) directive = !text.empty() && text.back() == '\\';
      if (!head_.empty()) head_ += ' ';
    }
    return std::move(found_);
  }

 private:
  bool at_scope() const {
    return scopes_.empty() || scopes_.back().kind == ScopeKind::name_space ||
           scopes_.back().kind == ScopeKind::type;
  }

  void take(char c) {
    if (c == '{') return open();
    if (c == '}') return close();
    if (!at_scope()) return;
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
    if (c == ';' && parentheses_ == 0) {
      if (!trimmed(head_).empty()) add(DeclarationKind::statement, head_, head_line_);
      head_.clear();
      return;
    }
    if (head_.empty() && std::isspace(static_cast<unsigned char>(c))) return;
    if (head_.empty()) head_line_ = line_;
    head_ += c;
    if (c == ':' && (head_ == "public:" || head_ == "private:" || head_ == "protected:")) {
      if (!scopes_.empty()) scopes_.back().is_accessible = head_ == "public:";
      head_.clear();
    }
  }

  void open() {
    if (!at_scope()) {
      scopes_.push_back({ScopeKind::initializer, "", line_});
      return;
    }
    ScopeKind kind = parentheses_ > 0 ? ScopeKind::initializer : kind_of_brace(trimmed(head_));
    if (head_.empty()) head_line_ = line_;
    bool is_accessible = kind != ScopeKind::type || !is_class(head_);
    scopes_.push_back({kind, std::string(trimmed(head_)), head_line_, is_accessible});
    if (kind != ScopeKind::initializer) head_.clear();
  }

  void close() {
    if (scopes_.empty()) return;
    Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    if (!at_scope()) return;
    switch (scope.kind) {
      case ScopeKind::initializer: head_ += "{}"; return;
      case ScopeKind::name_space:
        add(DeclarationKind::name_space, scope.head, scope.first_line);
        break;
      case ScopeKind::type: add(DeclarationKind::type, scope.head, scope.first_line); break;
      case ScopeKind::function: add(DeclarationKind::function, scope.head, scope.first_line); break;
    }
    head_.clear();
  }

  void add(DeclarationKind kind, std::string_view head, std::size_t first_line) {
    Declaration declaration{kind, std::string(trimmed(head)), first_line, line_, {}, false};
    for (const Scope& scope : scopes_) {
      declaration.scopes.push_back(scope.head);
      declaration.is_accessible = declaration.is_accessible && scope.is_accessible;
    }
    declaration.in_type = !scopes_.empty() && scopes_.back().kind == ScopeKind::type;
    found_.push_back(std::move(declaration));
  }

  const SourceFile& file_;
  std::vector<Declaration> found_;
  std::vector<Scope> scopes_;
  std::string head_;
  std::size_t head_line_ = 0;
  std::size_t line_ = 0;
  int parentheses_ = 0;
};

}  // namespace

std::vector<Declaration> declarations(const SourceFile& file) { return Reader(file).read(); }

std::string_view without_template(std::string_view head) {
  for (;;) {
    head = trimmed(head);
    if (head.substr(0, 2) == "[[") {
      head.remove_prefix(std::min(head.find("]]") + 2, head.size()));
    } else if (starts_with_word(head, "template")) {
      std::size_t end = std::min(head.find('<'), head.size());
      int depth = 0;
      for (; end < head.size(); ++end) {
        if (head[end] == '<') ++depth;
        if (head[end] == '>' && --depth == 0) break;
      }
      head.remove_prefix(std::min(end + 1, head.size()));
    } else {
      return head;
    }
  }
}

bool is_function_head(std::string_view head) {
  head = without_template(head);
  for (std::string_view word : {"using", "typedef", "static_assert", "friend", "namespace"})
    if (starts_with_word(head, word)) return false;
  std::size_t open = head.find('(');
  if (open == head.npos) return false;
  if (head.find("operator") < open) return true;
  if (head.substr(0, open).find('=') != head.npos) return false;
  std::string_view before = trimmed(head.substr(0, open));
  std::size_t begin = before.size();
  while (begin > 0 && is_identifier_char(before[begin - 1])) --begin;
  std::string_view name = before.substr(begin);
  bool has_lower = std::any_of(name.begin(), name.end(),
                               [](char c) { return std::islower(static_cast<unsigned char>(c)); });
  return !name.empty() && has_lower;
}

std::string qualified_name(std::string_view head) {
  std::string_view before = without_template(head);
  before = trimmed(before.substr(0, before.find('(')));
  return std::string(before.substr(before.find_last_of(" &*") + 1));
}

}  // namespace simmesh::tidy
