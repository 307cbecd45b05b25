#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace simmesh::replay {

// TextId stands for a text of a TextPool. Equal texts have equal ids; 0 is the empty text.
enum class TextId : std::uint32_t {};

// TextPool keeps each text once: a trace has the same few names many thousand times.
class TextPool {
 public:
  TextPool() { id_of({}); }
  // A copy has the same ids.
  TextPool(const TextPool& other) {
    for (const std::string& text : other.texts_) id_of(text);
  }
  TextPool& operator=(const TextPool& other) { return *this = TextPool(other); }
  TextPool(TextPool&&) = default;
  TextPool& operator=(TextPool&&) = default;

  // id_of returns the id of a text, and adds a new one.
  TextId id_of(std::string_view text) {
    auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    TextId id = TextId(texts_.size());
    texts_.emplace_back(text);
    ids_.emplace(texts_.back(), id);
    return id;
  }

  std::string_view operator[](TextId id) const { return texts_[std::size_t(id)]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // where a text keeps its place
  std::unordered_map<std::string_view, TextId> ids_;
};

}  // namespace simmesh::replay
