#pragma once

#include "core/engine/reports/outcome.h"

namespace simmesh {

// raise_shortage raises the std::bad_alloc for which a run ended, and returns if it ended
// otherwise. A program that judges runs calls it: a run without memory says nothing about the body.
void raise_shortage(const Outcome& outcome);

}  // namespace simmesh
