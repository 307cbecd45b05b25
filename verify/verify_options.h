#pragma once

#include "core/engine/run_words.h"

namespace simmesh {

// VerifyOptions says how cases run. Without an arithmetic it is canonical, and without a release it
// is that of the case's source.
using VerifyOptions = RunWords;

}  // namespace simmesh
