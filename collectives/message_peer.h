#pragma once

#include <cstdint>
#include <optional>

namespace simmesh {

// SendTo names who gets a message, and its tag.
struct SendTo {
  std::int64_t peer = 0;  // index within the group
  std::int64_t tag = 0;
};
// ReceiveFrom names whose message is taken, and with which tag.
struct ReceiveFrom {
  // No peer: from any member that sends with the tag, the earliest message first.
  std::optional<std::int64_t> peer;
  std::int64_t tag = 0;
};

}  // namespace simmesh
