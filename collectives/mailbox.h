#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "collectives/exchange.h"
#include "core/clock/timeline.h"
#include "core/engine/run/run.h"
#include "mesh/membership.h"

namespace simmesh {

// Message is one send, until its receive is found. It holds the sender's bytes as they were.
struct Message {
  std::size_t from = 0;
  std::size_t to = 0;
  std::int64_t tag = 0;
  ResultPart payload;
  std::uint64_t object = 0;  // the meeting of messages and receives, as the schedule knows it
  CallSite site;
  // The host's memory from which the payload is read when the message meets its receive; null where
  // the payload is there already.
  std::shared_ptr<const HostMemory> host = nullptr;
  std::shared_ptr<MessageTimes> times = nullptr;  // where devices are modelled
  std::uint64_t ordinal = 0;  // among those of its sender to its receiver with its tag
  std::uint64_t number = 0;   // among those of the mailbox, from 1 on
};

// Receive is one receive, until its message is found. It lives on the stack of the rank that
// blocks, or in a Work.
struct Receive {
  std::size_t to = 0;
  std::optional<std::size_t> from;  // any member, if not set
  std::int64_t tag = 0;
  DType dtype = DType::float32;
  Shape shape;
  std::uint64_t object = 0;  // as of a message
  CallSite site;
  std::shared_ptr<const HostMemory> host = nullptr;  // where the payload is written to
  RankEvent ready = {};                              // on the receiver's device, where there is one
  std::optional<Message> message;                    // once found
  std::uint64_t ordinal = 0;  // among those of its receiver with its tag and from its sender
  bool any_type = false;      // the message may have another shape and dtype
  std::uint64_t number = 0;   // among those of the mailbox, from 1 on
};

class Mailbox;

// Waiter is a rank that blocks until something happens in its group's mailbox: a sender until its
// message was received, a receiver until it has one. It lives on the rank's stack.
class Waiter final : public Waitable {
 public:
  Waiter(const Mailbox& mailbox, Rank& rank, std::uint64_t message)
      : mailbox_(mailbox), rank_(rank), message_(message) {}
  Waiter(const Mailbox& mailbox, Rank& rank, const Receive& receive)
      : mailbox_(mailbox), rank_(rank), receive_(&receive) {}

  std::string group() const override;
  std::string operand(RankId rank) const override;
  std::string peer() const override;
  std::vector<RankId> missing_ranks() const override;
  std::string difference() const override;
  Rank& rank() const { return rank_; }

  // waits_for is true if it waits until this message is received, or until this receive has one.
  bool waits_for(std::uint64_t message, const Receive* receive) const {
    return message_ == message || receive_ == receive;
  }

 private:
  const Mailbox& mailbox_;
  Rank& rank_;
  std::uint64_t message_ = 0;         // a sender's
  const Receive* receive_ = nullptr;  // a receiver's
};

// Mailbox holds the messages and receives of a group that have not met. A message meets the
// earliest posted receive that takes it, a receive the earliest message: the result doesn't depend
// on which comes first, only on the order of messages from different senders where a receive takes
// any.
class Mailbox {
 public:
  Mailbox(Run& run, const Membership& group) : run_(run), group_(group) {}

  const Membership& group() const { return group_; }

  // post adds a message. Returns a handle, with which the sender asks if the message was received.
  std::uint64_t post(Message message);
  bool was_received(std::uint64_t message) const { return !find(message); }
  // find returns a message that wasn't received, null where it was.
  const Message* find(std::uint64_t message) const;
  // wait_received blocks the sender until the message was received. With a deadline it returns
  // false when the run's time has come to it.
  bool wait_received(std::uint64_t message, Rank& rank, const CallSite& site,
                     std::optional<double> deadline_seconds = {});

  // open_sends_in_words and open_receives_in_words return the messages that no receive has taken,
  // and the receives that no message has met, of one member from or to another (any, if not set),
  // in words: " tag 7 at train.py:3"; empty for none.
  struct Pair {
    std::optional<std::size_t> from;
    std::optional<std::size_t> to;
  };
  std::string open_sends_in_words(const Pair& pair) const;
  std::string open_receives_in_words(const Pair& pair) const;

  // post adds a receive, which must stay where it is until its message is found. keep_alive, if
  // given, is held until then.
  void post(Receive& receive, std::shared_ptr<Receive> keep_alive = nullptr);
  // wait_message blocks the receiver until receive.message is set, or until the deadline, as above.
  bool wait_message(Receive& receive, Rank& rank, std::optional<double> deadline_seconds = {});

 private:
  struct Pending {
    std::uint64_t number;
    Message message;
  };
  struct Posted {
    Receive* receive;
    std::shared_ptr<Receive> keep_alive;
  };
  void match(const Pending& pending, Receive& receive);
  void wake(std::uint64_t message, const Receive* receive);
  bool sleep(Waiter& waiter, const Activity& activity, std::optional<double> deadline_seconds);
  std::uint64_t message_key(std::uint64_t number) const;
  std::uint64_t receive_key(std::uint64_t number) const;

  Run& run_;
  const Membership& group_;
  std::deque<Pending> messages_;
  std::deque<Posted> receives_;
  std::deque<Waiter*> sleepers_;
  std::uint64_t next_number_ = 1;
  std::uint64_t next_receive_ = 1;
  // The numbers of sends, and of receives, by sender (-1 for any), receiver and tag.
  using Direction = std::array<std::int64_t, 3>;
  std::map<Direction, std::uint64_t> sends_, posts_;
};

}  // namespace simmesh
