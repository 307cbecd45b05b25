#include "checkpoint/format/formats.h"

#include <vector>

#include "core/check/error.h"

namespace simmesh::checkpoint {

namespace {

std::string with_or(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

template <class WordOf>
std::string words_of_all(const WordOf& word_of) {
  std::vector<std::string_view> words;
  for (const Format* format : formats) words.push_back(word_of(*format));
  return with_or(words);
}

}  // namespace

const Format* find_format(std::string_view name) {
  for (const Format* format : formats)
    if (format->name == name) return format;
  return nullptr;
}

std::string written_formats() {
  std::vector<std::string_view> names;
  for (const Format* format : formats)
    if (format->writes) names.push_back(format->name);
  return with_or(names);
}

const Format& written_format(std::string_view name) {
  const Format* format = find_format(name);
  if (format == nullptr || !format->writes)
    raise(ErrorKind::value_error, "checkpoint/convert", "expected the format {}, got '{}'",
          written_formats(), name);
  return *format;
}

std::string format_titles() {
  return words_of_all([](const Format& format) { return format.title; });
}

std::string format_marks() {
  return words_of_all([](const Format& format) { return format.marks; });
}

}  // namespace simmesh::checkpoint
