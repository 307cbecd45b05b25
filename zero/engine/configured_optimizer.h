#pragma once

#include <map>
#include <string>

#include "zero/config/config.h"
#include "zero/engine/stage.h"

namespace simmesh::zero {

// ShapesByName are the shapes of a module's parameters, whatever part of them a rank holds.
using ShapesByName = std::map<std::string, Shape>;

// configured_optimizer makes the optimiser of the section optimizer. The shapes are needed where
// masters are pieces of parameters; without one a master counts as whole. Muon steps the parameters
// of two dims or more whose name, in any letters, has neither "embed" nor "lm_head"; the others are
// a second group, which its Adam steps.
MakeOptimizer configured_optimizer(const OptimizerConfig& config, const ShapesByName& shapes = {});

}  // namespace simmesh::zero
