#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace simmesh {

// StateMap holds one value of each type that a layer above keeps with a world, a run or a rank.
// Each operation on a tensor asks for several, so a type is known by the address of its key.
class StateMap {
 public:
  template <class T>
  T& get() {
    for (const Entry& entry : entries_)
      if (entry.key == &key_of<T>) [[likely]]
        return static_cast<StateOf<T>&>(*entry.state).value;
    auto made = std::make_unique<StateOf<T>>();
    T& value = made->value;
    entries_.push_back({&key_of<T>, std::move(made)});
    return value;
  }
  void clear() { entries_.clear(); }

 private:
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;
  };
  template <class T>
  struct StateOf final : State {
    T value{};
  };
  struct Entry {
    const char* key;
    std::unique_ptr<State> state;
  };
  template <class T>
  static inline const char key_of = 0;

  std::vector<Entry> entries_;
};

}  // namespace simmesh
