#pragma once

#include <any>
#include <memory>
#include <typeindex>
#include <utility>
#include <vector>

namespace simmesh {

// StateMap holds one value of each type that a layer above keeps with a world, a run or a rank.
class StateMap {
 public:
  template <class T>
  T& get() {
    for (auto& [type, state] : states_)
      if (type == typeid(T)) return **std::any_cast<std::shared_ptr<T>>(&state);
    auto made = std::make_shared<T>();
    states_.emplace_back(typeid(T), made);
    return *made;
  }
  void clear() { states_.clear(); }

 private:
  std::vector<std::pair<std::type_index, std::any>> states_;
};

}  // namespace simmesh
