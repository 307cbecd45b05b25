#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace simmesh {

// Log takes messages that help to understand a run. It is part of a World's options: without a sink
// nothing is logged, and no message is formatted.
struct Log {
  std::function<void(std::string_view)> debug = nullptr;
  std::function<void(std::string_view)> warning = nullptr;
};

}  // namespace simmesh
