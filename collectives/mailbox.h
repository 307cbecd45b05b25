#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "collectives/exchange.h"
#include "core/clock/timeline.h"

namespace simmesh {

// Message is one send, until its receive is found. It holds the sender's bytes as they were.
struct Message {
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t tag = 0;
  ResultPart payload;
  CallSite site;
  std::shared_ptr<MessageTimes> times = nullptr;  // where devices are modelled
};

// Receive is one receive, until its message is found. It lives on the stack of the rank that
// blocks, or in a Work.
struct Receive {
  std::size_t to = 0;
  std::optional<std::size_t> from;  // of any member, where not set
  std::int64_t tag = 0;
  DType dtype = DType::float32;
  Shape shape;
  CallSite site;
  RankEvent ready = {};            // on the receiver's device, where there is one
  std::optional<Message> message;  // once found
};

// Waiter is a rank that blocks until something of its group's mailbox has happened.
class Waiter final : public Waitable {
 public:
  Waiter(Group& group, Rank& rank, std::optional<std::size_t> peer)
      : group_(group), rank_(rank), peer_(peer) {}

  std::string group() const override;
  std::vector<RankId> missing_ranks() const override;
  Rank& rank() const { return rank_; }

 private:
  Group& group_;
  Rank& rank_;
  std::optional<std::size_t> peer_;
};

// Mailbox holds the messages and receives of a group that have not met. A message meets the
// earliest posted receive that takes it, a receive the earliest message: the result doesn't depend
// on which comes first, only on the order of messages from different senders where a receive takes
// any.
class Mailbox {
 public:
  explicit Mailbox(Group& group) : group_(group) {}

  // post adds a message. Returns a handle by which the sender can ask whether it was received.
  std::uint64_t post(Message message);
  bool was_received(std::uint64_t message) const;
  // wait_received blocks the sender until the message was received.
  void wait_received(std::uint64_t message, Rank& rank, const CallSite& site);

  // post adds a receive, which must stay where it is until its message is found. keep_alive, if
  // given, is held until then.
  void post(Receive& receive, std::shared_ptr<Work::State> keep_alive = nullptr);
  // wait_message blocks the receiver until receive.message is set.
  void wait_message(Receive& receive, Rank& rank);

 private:
  struct Pending {
    std::uint64_t number;
    Message message;
  };
  struct Posted {
    Receive* receive;
    std::shared_ptr<Work::State> keep_alive;
  };
  struct Sleeper {
    std::uint64_t message;   // a sender's, or 0
    const Receive* receive;  // a receiver's, or null
    Waiter* waiter;
  };

  void match(const Pending& pending, Receive& receive);
  void wake(std::uint64_t message, const Receive* receive);
  void sleep(Sleeper sleeper, const Activity& activity);

  Group& group_;
  std::deque<Pending> messages_;
  std::deque<Posted> receives_;
  std::deque<Sleeper> sleepers_;
  std::uint64_t next_number_ = 1;
};

}  // namespace simmesh
