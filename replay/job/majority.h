#pragma once

#include <algorithm>
#include <vector>

namespace simmesh::replay {

// majority returns the value that more than half of the values equal; the first value where there
// is none. The list must not be empty. O(n), with the vote of Boyer and Moore.
template <class T>
const T& majority(const std::vector<T>& values) {
  const T* candidate = values.data();
  std::size_t votes = 0;
  for (const T& value : values) {
    if (votes == 0) candidate = &value;
    if (value == *candidate)
      ++votes;
    else
      --votes;
  }
  auto count = std::size_t(std::count(values.begin(), values.end(), *candidate));
  return 2 * count > values.size() ? *candidate : values.front();
}

}  // namespace simmesh::replay
