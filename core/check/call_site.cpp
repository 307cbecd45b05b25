#include "core/check/call_site.h"

#include <deque>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace simmesh {

namespace {

// Keeps each text once, under a number. A site holds a number instead of a pointer, because it is
// copied into every event of a trace and has room for one.
class Texts {
 public:
  static Texts& of_labels() {
    static Texts labels;
    return labels;
  }
  static Texts& of_files() {
    static Texts files;
    return files;
  }

  std::uint32_t number_of(std::string_view text) {
    std::lock_guard lock(mutex_);
    auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    texts_.emplace_back(text);
    auto number = std::uint32_t(texts_.size());
    numbers_.emplace(texts_.back(), number);
    return number;
  }

  const std::string& text_of(std::uint32_t number) {
    std::lock_guard lock(mutex_);
    return texts_.at(number - 1);
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> texts_;  // never moved, because numbers_ views them
  std::map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace

std::string_view file_name(const CallSite& site) {
  std::string_view path = site.file;
  return path.substr(path.rfind('/') + 1);
}

CallSite site_in(std::string_view file, int line) {
  Texts& files = Texts::of_files();
  return {files.text_of(files.number_of(file)).c_str(), line, 0};
}

CallSite labelled(const CallSite& site, std::string_view what_for) {
  CallSite result = site;
  result.label = what_for.empty() ? 0 : Texts::of_labels().number_of(what_for);
  return result;
}

std::string to_string(const CallSite& site) {
  std::string text = fmt::format("{}:{}", file_name(site), site.line);
  if (site.label != 0) text += fmt::format(" ({})", Texts::of_labels().text_of(site.label));
  return text;
}

}  // namespace simmesh
