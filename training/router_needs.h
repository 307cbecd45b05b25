#pragma once

#include <cstdint>

#include "core/nn/module.h"

namespace simmesh {

// RouterNeeds is what the routers of a model need in steps of some micro-batches (see RouterBatch).
struct RouterNeeds {
  bool plan = false;  // a step begins with a plan
  bool loss = false;  // routers add losses
};

// router_needs returns those of a whole model.
RouterNeeds router_needs(nn::Module& model, std::int64_t micro_batches);

}  // namespace simmesh
