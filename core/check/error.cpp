#include "core/check/error.h"

#include "core/check/check.h"

namespace simmesh {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::runtime_error: return "RuntimeError";
    case ErrorKind::value_error: return "ValueError";
    case ErrorKind::index_error: return "IndexError";
    case ErrorKind::key_error: return "KeyError";
    case ErrorKind::type_error: return "TypeError";
    case ErrorKind::assertion_error: return "AssertionError";
    case ErrorKind::not_implemented_error: return "NotImplementedError";
    case ErrorKind::attribute_error: return "AttributeError";
    case ErrorKind::zero_division_error: return "ZeroDivisionError";
  }
  SIMMESH_CHECK(false, "unknown ErrorKind {}", static_cast<int>(kind));
}

Error::Error(ErrorKind kind, std::string_view where, std::string_view message)
    : std::runtime_error(fmt::format("[{}] {}", where, message)),
      kind_(kind),
      message_begin_(where.size() + 3) {}

void detail::raise_formatted(ErrorKind kind, std::string_view where, fmt::string_view format,
                             fmt::format_args args) {
  throw Error(kind, where, fmt::vformat(format, args));
}

Error Error::of_text(ErrorKind kind, std::string_view text) {
  std::size_t end = text.find("] ");
  SIMMESH_CHECK(text.starts_with('[') && end != text.npos, "the text of no error: {}", text);
  return Error(kind, text.substr(1, end - 1), text.substr(end + 2));
}

std::string_view Error::message() const { return std::string_view(what()).substr(message_begin_); }

}  // namespace simmesh
