#include "sharding/strategies/view_map.h"

#include <algorithm>

namespace simmesh {

namespace {

// The sizes of an empty tensor don't tell which dims belong together: the first and last dims that
// are equal stay.
ViewMap empty_map(DimSpan from, DimSpan to) {
  ViewMap map;
  std::size_t front = 0, back = 0, both = std::min(from.size(), to.size());
  auto stays = [&map](std::size_t a, std::size_t b) {
    map.push_back({{std::int64_t(a)}, {std::int64_t(b)}});
  };
  for (; front < both && from[front] == to[front]; ++front) stays(front, front);
  std::size_t left = both - front;
  while (back < left && from[from.size() - 1 - back] == to[to.size() - 1 - back]) ++back;
  for (std::size_t dim = front; dim + back < from.size(); ++dim)
    map.push_back({{std::int64_t(dim)}, {}});
  for (std::size_t i = back; i > 0; --i) stays(from.size() - i, to.size() - i);
  return map;
}

// Drops dims of size 1, unless it is the only one.
Dims without_ones(const Dims& dims, DimSpan shape) {
  if (dims.size() == 1) return dims;
  Dims result;
  for (std::int64_t dim : dims)
    if (shape[std::size_t(dim)] != 1) result.push_back(dim);
  return result;
}

}  // namespace

ViewMap reshaping_map(DimSpan from, DimSpan to) {
  if (numel(from) == 0) return empty_map(from, to);
  ViewMap map;
  std::size_t next_from = 0, next_to = 0;
  while (next_from < from.size() && next_to < to.size()) {
    std::int64_t held = from[next_from], wanted = to[next_to];
    if (held == 1 && wanted != 1) {
      ++next_from;
      continue;
    }
    if (wanted == 1 && held != 1) {
      ++next_to;
      continue;
    }
    DimGroup group{{std::int64_t(next_from++)}, {std::int64_t(next_to++)}};
    while (held != wanted) {
      if (held < wanted) {
        held *= from[next_from];
        group.from.push_back(std::int64_t(next_from++));
      } else {
        wanted *= to[next_to];
        group.to.push_back(std::int64_t(next_to++));
      }
    }
    group.to = without_ones(group.to, to);
    map.push_back(std::move(group));
  }
  return map;
}

ViewMap permuting_map(DimSpan order) {
  ViewMap map;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] >= 0) map.push_back({{order[i]}, {std::int64_t(i)}});
  return map;
}

}  // namespace simmesh
