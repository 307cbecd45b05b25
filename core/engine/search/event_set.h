#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace simmesh {

// EventSet is a set of events of one run, by their numbers.
//
//   EventSet past;
//   past.insert(3);
//   past.contains(2);   // false
class EventSet {
 public:
  void insert(std::size_t event) {
    if (words_.size() <= event / 64) words_.resize(event / 64 + 1);
    words_[event / 64] |= bit(event);
  }
  bool contains(std::size_t event) const {
    return event / 64 < words_.size() && (words_[event / 64] & bit(event)) != 0;
  }

  // add makes this the union with another set.
  void add(const EventSet& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }

  // is_within is true if another set has all events of this one, or all but one that is named.
  bool is_within(const EventSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & ~other.word(i)) != 0) return false;
    return true;
  }
  bool is_within_but_for(std::size_t event, const EventSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      std::uint64_t left = words_[i] & ~other.word(i);
      if (i == event / 64) left &= ~bit(event);
      if (left != 0) return false;
    }
    return true;
  }

 private:
  static std::uint64_t bit(std::size_t event) { return std::uint64_t(1) << (event % 64); }
  std::uint64_t word(std::size_t index) const { return index < words_.size() ? words_[index] : 0; }

  std::vector<std::uint64_t> words_;
};

}  // namespace simmesh
