#include "pipeline/stage/event.h"

#include <array>

namespace simmesh::pipeline {

std::string_view to_string(EventKind kind) {
  static constexpr std::array<std::string_view, 19> names = {
      "preconnect", "infer_forward",   "infer_backward",  "send_meta",
      "recv_meta",  "action",          "forward",         "loss",
      "backward",   "backward_input",  "backward_weight", "post",
      "wait",       "release",         "local_input",     "local_grad",
      "divide",     "start_reduction", "wait_reduction"};
  return names[std::size_t(kind)];
}

}  // namespace simmesh::pipeline
