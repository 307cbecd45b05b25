#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/nn/module.h"

namespace simmesh {

// ModuleTracker tells, while a model runs, in which of its modules the rank is: forward between a
// module's first pre-hook and its last hook; backward from the gradient of one of its outputs to
// those of all its inputs. It adds hooks to the modules, which do nothing once the tracker is gone.
// It changes no gradient.
class ModuleTracker {
 public:
  explicit ModuleTracker(nn::Module& model);

  // Where is the innermost module, by its path; the path of the model itself is empty.
  struct Where {
    std::string module;
    bool is_backward = false;
    bool is_outside = true;  // no module of the model runs

    auto operator<=>(const Where&) const = default;
  };
  Where where() const;

 private:
  struct State {
    std::vector<std::string> forward, backward;

    // leave_backward ends a module, and those within it that are still open.
    void leave_backward(const std::string& path);
  };

  static void watch(nn::Module& module, const std::string& path, const std::weak_ptr<State>& state);

  std::shared_ptr<State> state_;
};

// to_string returns "blocks.0.attn backward", "(model) forward" or "(outside)".
std::string to_string(const ModuleTracker::Where& where);

}  // namespace simmesh
