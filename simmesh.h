#pragma once

// All of simmesh that a program needs to describe and run worlds.

#include "collectives/collectives.h"
#include "collectives/point_to_point.h"
#include "collectives/process_group.h"
#include "core/engine/outcome.h"
#include "core/engine/rank.h"
#include "core/engine/world.h"
#include "core/tensor/formula.h"
#include "core/tensor/tensor.h"
#include "fsdp/fully_shard.h"
#include "fsdp/state_dict.h"
#include "mesh/default_mesh.h"
#include "mesh/device_mesh.h"
#include "sharding/dtensor.h"
#include "zero/engine.h"
#include "zero/replicate.h"
