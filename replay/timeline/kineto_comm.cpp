#include "replay/timeline/kineto_comm.h"

#include <array>
#include <charconv>
#include <utility>

namespace simmesh::replay {

namespace {

// NumberList is the integers of a text "[1, 2, ..., 9]": those before the dots and those after
// them.
struct NumberList {
  std::vector<std::int64_t> head;
  std::vector<std::int64_t> tail;
  bool is_cut = false;
};

std::string_view trimmed(std::string_view text) {
  std::size_t first = text.find_first_not_of(" \"");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \"") - first + 1);
}

std::optional<NumberList> number_list(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[') || !text.ends_with(']') || text.size() < 2) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  NumberList list;
  if (trimmed(text).empty()) return list;
  while (true) {
    std::size_t comma = text.find(',');
    std::string_view entry = trimmed(text.substr(0, comma));
    if (entry == "...") {
      if (std::exchange(list.is_cut, true)) return std::nullopt;
    } else {
      std::int64_t number = 0;
      auto result = std::from_chars(entry.data(), entry.data() + entry.size(), number);
      if (result.ec != std::errc() || result.ptr != entry.data() + entry.size())
        return std::nullopt;
      (list.is_cut ? list.tail : list.head).push_back(number);
    }
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<std::vector<std::int64_t>> kineto_numbers(std::string_view text) {
  std::optional<NumberList> list = number_list(text);
  if (!list || list->is_cut) return std::nullopt;
  return std::move(list->head);
}

std::vector<std::int64_t> kineto_ranks(std::string_view text, std::int64_t size) {
  std::optional<NumberList> list = number_list(text);
  if (!list) return {};
  if (!list->is_cut) return std::move(list->head);
  const std::vector<std::int64_t>& head = list->head;
  if (head.size() < 2 || size < std::int64_t(head.size()) || size > kineto_ranks_max) return {};
  std::int64_t first = head[0], stride = head[1] - head[0];
  if (first < 0 || first > kineto_ranks_max || stride <= 0 || stride > kineto_ranks_max) return {};
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < size; ++i) ranks.push_back(first + i * stride);
  for (std::size_t i = 0; i < head.size(); ++i)
    if (ranks[i] != head[i]) return {};
  if (!list->tail.empty() && list->tail.back() != ranks.back()) return {};
  return ranks;
}

std::int64_t dtype_bytes(std::string_view c10_name) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 22> sizes = {{
      {"Byte", 1},
      {"Char", 1},
      {"Bool", 1},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2fnuz", 1},
      {"Float8_e4m3fnuz", 1},
      {"Float8_e8m0fnu", 1},
      {"QInt8", 1},
      {"QUInt8", 1},
      {"Short", 2},
      {"UInt16", 2},
      {"Half", 2},
      {"BFloat16", 2},
      {"Int", 4},
      {"UInt32", 4},
      {"Float", 4},
      {"ComplexHalf", 4},
      {"Long", 8},
      {"UInt64", 8},
      {"Double", 8},
      {"ComplexFloat", 8},
  }};
  if (c10_name == "ComplexDouble") return 16;
  for (auto [name, bytes] : sizes)
    if (name == c10_name) return bytes;
  return 0;
}

}  // namespace simmesh::replay
