#pragma once

#include <cstdint>

#include "collectives/process_group.h"
#include "pipeline/stage/tensor_meta.h"

namespace simmesh::pipeline {

// MetaDirection says whether metas are those of activations or of gradients.
enum class MetaDirection : std::uint8_t { forward, backward };

// StageMessage is metas that go from one stage to another.
struct StageMessage {
  MetaDirection direction;
  GradMetas metas;
};

// send_metas sends them to a member of a group, and returns when they were received. The messages
// are tensors without elements, whose sizes are the numbers: a world of shapes only carries them
// too.
void send_metas(const StageMessage& message, std::int64_t peer, const ProcessGroup& group);

// recv_metas returns the next ones from a member.
StageMessage recv_metas(std::int64_t peer, const ProcessGroup& group);

}  // namespace simmesh::pipeline
