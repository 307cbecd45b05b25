#pragma once

// All of simmesh that a program needs to describe and run worlds.

#include <simmesh/collectives/collectives.h>
#include <simmesh/collectives/point_to_point.h>
#include <simmesh/collectives/process_group.h>
#include <simmesh/collectives/replicate.h>
#include <simmesh/core/engine/outcome.h>
#include <simmesh/core/engine/rank.h>
#include <simmesh/core/engine/world.h>
#include <simmesh/core/tensor/formula.h>
#include <simmesh/core/tensor/tensor.h>
#include <simmesh/fsdp/fully_shard.h>
#include <simmesh/fsdp/state_dict.h>
#include <simmesh/mesh/default_mesh.h>
#include <simmesh/mesh/device_mesh.h>
#include <simmesh/sharding/dtensor.h>
#include <simmesh/sharding/explicit_redistribution.h>
