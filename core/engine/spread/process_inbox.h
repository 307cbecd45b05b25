#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "core/engine/spread/processes.h"

namespace simmesh {

// ParcelHead is the number before the bytes of a parcel on its way: how many they are, and in the
// highest bit if they are a note.
class ParcelHead {
 public:
  explicit ParcelHead(std::uint64_t number) : number_(number) {}
  explicit ParcelHead(const Parcel& parcel)
      : number_(parcel.bytes.size() | (parcel.is_note ? note_bit : 0)) {}

  std::uint64_t number() const { return number_; }
  std::size_t bytes() const { return std::size_t(number_ & ~note_bit); }
  bool is_note() const { return (number_ & note_bit) != 0; }

 private:
  static constexpr std::uint64_t note_bit = std::uint64_t(1) << 63;

  std::uint64_t number_;
};

// ProcessInbox has what has come from one process: the messages that nobody has taken, in their
// order, and the last note.
class ProcessInbox {
 public:
  void keep(const ParcelHead& head, ProcessBytes bytes) {
    if (head.is_note())
      note_ = std::move(bytes);
    else
      messages_.push_back(std::move(bytes));
  }

  bool is_empty() const { return messages_.empty(); }
  // take returns the first message, which there is.
  ProcessBytes take() {
    ProcessBytes first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }
  const ProcessBytes& note() const { return note_; }

 private:
  std::deque<ProcessBytes> messages_;
  ProcessBytes note_;
};

}  // namespace simmesh
