#pragma once

#include <string>
#include <vector>

namespace simmesh {

// Finding is one value that `simmesh doctor` prints.
struct Finding {
  std::string name;
  std::string value;
  std::string expected;  // empty if any value is fine

  bool ok() const { return expected.empty() || expected == value; }
};

// examine reads versions, the machine and the library's own arithmetic, in less than a second.
std::vector<Finding> examine();

}  // namespace simmesh
