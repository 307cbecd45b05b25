#pragma once

#include <cstdint>
#include <optional>

namespace simmesh {

// SendTo names the member that gets a message, and its tag.
struct SendTo {
  std::int64_t peer = 0;  // index within the group
  std::int64_t tag = 0;
};
// ReceiveFrom names the member whose message is taken, and the tag of the message.
struct ReceiveFrom {
  // Without a peer the receive takes a message from any member that sends with the tag, the
  // earliest first.
  std::optional<std::int64_t> peer;
  std::int64_t tag = 0;
  // A message of any shape and dtype is taken; those of the receive only say which one is expected.
  bool any_type = false;
};

}  // namespace simmesh
