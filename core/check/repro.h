#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace simmesh {

// version returns the version of the library: "0.1.0".
std::string_view version();

// revision returns the source revision that the library was built from, or "unknown" outside a
// checkout.
std::string_view revision();

// Repro is all that is needed to see a failure again.
struct Repro {
  std::string program;  // command line or test name, without seed and schedule
  std::uint64_t seed = 0;
  std::string schedule;
};

// to_string returns one line: "reproduce: PROGRAM --seed 7 --schedule pct:3   # revision 0123abcd".
std::string to_string(const Repro& repro);

}  // namespace simmesh
