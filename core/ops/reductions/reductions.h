#pragma once

// The reductions along dims, and the scans: one header for those who use several.
#include "core/ops/reductions/extremes.h"
#include "core/ops/reductions/scans.h"
#include "core/ops/reductions/statistics.h"
#include "core/ops/reductions/sums.h"
