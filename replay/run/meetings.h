#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/run/replay_program.h"

namespace simmesh::replay {

// Meeting is one collective of a job, with the step of each member: the k-th collective that a
// member calls in a group is the k-th of the others.
struct Meeting {
  std::uint32_t group = 0;
  std::uint64_t number = 0;                         // within the group, from 0
  std::vector<std::optional<std::uint32_t>> steps;  // by member; nullopt: it never comes

  bool is_complete() const;
};

// MessageStep is one side of a message.
struct MessageStep {
  std::size_t rank = 0;
  std::uint32_t step = 0;
};

// MessageMeeting is a message and its receive: the k-th from one member to another in a group goes
// to the k-th receive from it there. A receive from any source takes the first message, in the
// order of the members, that no other receive takes; a run may take another.
struct MessageMeeting {
  std::uint32_t group = 0;
  MessageStep sender;
  MessageStep receiver;
};

// JobMeetings are the steps of a program that belong together, found without running it.
struct JobMeetings {
  std::vector<Meeting> collectives;
  std::vector<MessageMeeting> messages;
  std::vector<MessageStep> unmatched;  // messages without another side

  // The collective, or the message, of a step, by rank and step; nullopt for other steps.
  std::vector<std::vector<std::optional<std::uint32_t>>> collective_of;
  std::vector<std::vector<std::optional<std::uint32_t>>> message_of;
};

// meetings_of finds them in a program.
JobMeetings meetings_of(const ReplayProgram& program);

// members_of returns the ranks of a meeting's group.
const std::vector<std::int64_t>& members_of(const ReplayProgram& program, const Meeting& meeting);

}  // namespace simmesh::replay
