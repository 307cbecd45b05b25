#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/engine/ranks/watch.h"

namespace simmesh {

// AnnotationEvent says that a rank's program began or ended a named part.
struct AnnotationEvent {
  std::string_view name;
  bool has_ended;
};

// Annotation names the work of its rank in the scope, for everybody who watches the rank: PyTorch's
// record_function.
//
//   Annotation scope("load the batch");
class Annotation {
 public:
  explicit Annotation(std::string_view name) {
    if (Watch::is_on()) [[unlikely]]
      begin(std::string(name));
  }
  // step names a step of training as PyTorch's profiler does: "ProfilerStep#3".
  static Annotation step(std::int64_t number);

  ~Annotation() {
    if (is_told_) [[unlikely]]
      end();
  }
  Annotation(const Annotation&) = delete;
  Annotation& operator=(const Annotation&) = delete;

 private:
  Annotation() = default;
  void begin(std::string name);
  void end();

  std::string name_;
  bool is_told_ = false;
};

}  // namespace simmesh
