#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "collectives/point_to_point.h"
#include "pipeline/runtime/stage_set.h"
#include "pipeline/schedule/action.h"
#include "pipeline/schedule/stage_map.h"

namespace simmesh::pipeline {

// SendMode says when a wait for a send returns: once the message was received, or at once, since it
// was copied.
enum class SendMode : std::uint8_t { rendezvous, buffered };

// Posts are the messages of one call of a schedule on one rank. Each has a tag of its own: a
// receive gets the message of its stage, micro-batch and tensor, in whatever order they are posted.
class Posts {
 public:
  Posts(const StageSet& stages, SendMode mode) : stages_(stages), mode_(mode) {}

  // post posts the messages of some actions together. Without tensors nothing is posted.
  void post(const std::vector<Action>& actions);
  // wait waits for all that was posted together with an action, and gives stages what they
  // received.
  void wait(const Action& action);
  // is_posted is true from the post of an action to the wait for it.
  bool is_posted(const Action& action) const { return batches_.count(action.key()) > 0; }
  // pending returns the actions that nothing has waited for.
  std::vector<ActionKey> pending() const;

 private:
  // One action of a batch, with its messages.
  struct Part {
    Action action;
    std::vector<std::size_t> indices;  // of the tensors
    std::vector<Work> works;
    // The sent tensors live until the wait, so that their memory is not used again while a device
    // still reads it.
    std::vector<Tensor> sent;
  };
  struct Batch {
    std::vector<Part> parts;
    std::int64_t number = -1;  // of the post; none without tensors
  };
  struct Message {
    std::int64_t peer;
    std::int64_t tag;
    TensorMeta meta;
    Tensor sent;
  };

  std::vector<std::pair<std::size_t, Message>> messages_of(const Action& action);
  static std::int64_t tag_of(const ActionKey& arrival, std::size_t index);
  void deliver(Part& part);

  const StageSet& stages_;
  SendMode mode_;
  std::int64_t next_number_ = 0;
  std::map<ActionKey, std::shared_ptr<Batch>> batches_;
};

}  // namespace simmesh::pipeline
