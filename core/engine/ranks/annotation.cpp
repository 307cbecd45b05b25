#include "core/engine/ranks/annotation.h"

#include "core/engine/ranks/observer_scope.h"

namespace simmesh {

Annotation Annotation::step(std::int64_t number) {
  if (!Watch::is_on()) return {};
  return Annotation("ProfilerStep#" + std::to_string(number));
}

void Annotation::begin(std::string name) {
  name_ = std::move(name);
  is_told_ = true;
  ObserverScope<AnnotationEvent>::emit({name_, false});
}

void Annotation::end() { ObserverScope<AnnotationEvent>::emit({name_, true}); }

}  // namespace simmesh
