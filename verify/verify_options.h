#pragma once

#include "core/engine/options/run_words.h"

namespace simmesh {

// VerifyOptions are how cases run. Without an arithmetic it is canonical, or exact where a case may
// go beyond a recorded refusal, and without a release it is that of the case's source.
using VerifyOptions = RunWords;

}  // namespace simmesh
