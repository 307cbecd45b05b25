#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace simmesh::checkpoint::testing {

// HostileBytes changes files as accidents and attacks do. The same seed gives the same changes.
class HostileBytes {
 public:
  explicit HostileBytes(std::uint64_t seed) : state_(seed) {}

  // below returns a number of splitmix64 below `end`.
  std::size_t below(std::size_t limit) {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return std::size_t((x ^ (x >> 31)) % limit);
  }

  // changed returns one of the files with one to four changes.
  std::string changed(const std::vector<std::string>& files) {
    std::string text = files[below(files.size())];
    for (std::size_t left = 1 + below(4); left > 0 && !text.empty(); --left) change(text, files);
    return text;
  }

 private:
  std::string part_of(const std::string& text) {
    if (text.empty()) return "";
    std::size_t begin = below(text.size());
    return text.substr(begin, 1 + below(64));
  }

  void change(std::string& text, const std::vector<std::string>& files) {
    static const std::vector<std::string> words = {"null",
                                                   "-1",
                                                   "0",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   "\"",
                                                   ",",
                                                   "1e308",
                                                   "true",
                                                   "../x",
                                                   "\xff",
                                                   "18446744073709551615",
                                                   "9223372036854775807",
                                                   "4611686018427387904",
                                                   "4294967296",
                                                   "->",
                                                   "[[[[[[[[[[[[[[[[",
                                                   "{\"a\":{\"a\":{\"a\":",
                                                   "_",
                                                   "$LAYER_ID",
                                                   "*",
                                                   "(",
                                                   ")",
                                                   "h",
                                                   "N.",
                                                   "R"};
    std::size_t at = below(text.size());
    switch (below(11)) {
      case 0: text[at] = char(text[at] ^ (1 << below(8))); break;
      case 1: text[at] = char(below(256)); break;
      case 2: text.resize(at); break;
      case 3: text.erase(at, 1 + below(32)); break;
      case 4: text.insert(at, words[below(words.size())]); break;
      case 5: text.insert(at, part_of(text)); break;
      case 6: text.insert(at, part_of(files[below(files.size())])); break;
      case 7: text.insert(at, std::string(1 + below(8), char(below(256)))); break;
      case 8: put_integer(text, at); break;
      case 9: replace_number(text, at); break;
      default: {
        // Joins the begin of one file and the end of another.
        const std::string& other = files[below(files.size())];
        text = text.substr(0, at) + other.substr(std::min(at, other.size()));
      }
    }
  }

  // Writes an integer into the bytes, the lowest byte first.
  void put_integer(std::string& text, std::size_t at) {
    static constexpr std::uint64_t numbers[] = {0,
                                                1,
                                                0x7f,
                                                0xff,
                                                0x7fff,
                                                0xffff,
                                                0x7fffffff,
                                                0xffffffff,
                                                std::uint64_t{1} << 32,
                                                std::uint64_t{1} << 62,
                                                std::numeric_limits<std::int64_t>::max(),
                                                std::uint64_t{1} << 63,
                                                std::numeric_limits<std::uint64_t>::max()};
    std::uint64_t number = numbers[below(std::size(numbers))];
    std::size_t bytes = std::min(std::size_t{1} << below(4), text.size() - at);
    for (std::size_t i = 0; i < bytes; ++i) text[at + i] = char(number >> (8 * i));
  }

  // Replaces the next number that is written in digits.
  void replace_number(std::string& text, std::size_t at) {
    static const std::vector<std::string> numbers = {
        "0", "-1", "1", "65537", "4294967297", "1e99", "2.5", "", "9223372036854775807"};
    std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == text.npos) return;
    std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    text.replace(begin, end - begin, numbers[below(numbers.size())]);
  }

  std::uint64_t state_;
};

}  // namespace simmesh::checkpoint::testing
