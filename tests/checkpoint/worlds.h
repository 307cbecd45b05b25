#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>

#include "checkpoint/save_load/load.h"
#include "checkpoint/save_load/save.h"
#include "checkpoint/store/memory_store.h"
#include "core/engine/world.h"
#include "mesh/device_mesh.h"

namespace simmesh::checkpoint::testing {

// run_world runs a body on every rank, and expects that it succeeds.
inline void run_world(std::int64_t ranks, const std::function<void()>& body) {
  World world({.ranks = std::size_t(ranks)});
  auto outcome = world.run([&](Rank&) { body(); });
  ASSERT_TRUE(outcome.ok()) << report(outcome);
}

}  // namespace simmesh::checkpoint::testing
