#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/engine/ranks/local_state.h"

namespace simmesh {

// ObserverScope lets an observer see the events of one type that its rank emits in the scope, in
// their order, besides the observers of the scopes around it. Outside of ranks it sees those of its
// thread.
template <class Event>
class ObserverScope {
 public:
  using Observer = std::function<void(const Event& event)>;

  explicit ObserverScope(Observer observer) { observers().push_back(std::move(observer)); }
  ~ObserverScope() { observers().pop_back(); }
  ObserverScope(const ObserverScope&) = delete;
  ObserverScope& operator=(const ObserverScope&) = delete;

  // is_observed is true if somebody sees the events; emit passes an event to all observers.
  static bool is_observed() { return !observers().empty(); }
  static void emit(const Event& event) {
    if (!is_observed()) return;
    // An observer may open a scope of its own.
    for (const Observer& observer : std::vector(observers())) observer(event);
  }

 private:
  struct Observers {
    std::vector<Observer> list;
  };

  static std::vector<Observer>& observers() { return local_state<Observers>().list; }
};

}  // namespace simmesh
