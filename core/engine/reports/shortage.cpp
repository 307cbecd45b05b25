#include "core/engine/reports/shortage.h"

#include <new>

namespace simmesh {

void raise_shortage(const Outcome& outcome) {
  if (!outcome.failure || !outcome.failure->exception) return;
  try {
    std::rethrow_exception(outcome.failure->exception);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return;
  }
}

}  // namespace simmesh
