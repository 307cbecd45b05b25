#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "core/check/check.h"
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

// ComingParcel is a parcel on its way, of whose bytes some have come.
class ComingParcel {
 public:
  explicit ComingParcel(const ParcelHead& head)
      : head_(head), bytes_(ProcessBytes::uninitialised(head.bytes())) {}

  // missing returns the place of the bytes that haven't come. add says that so many of them have
  // been written there.
  gsl::span<std::byte> missing() {
    return gsl::span<std::byte>(bytes_.mutable_data(), bytes_.size()).subspan(come_);
  }
  void add(std::size_t count) {
    SIMMESH_CHECK(count <= bytes_.size() - come_, "{} more bytes of a parcel with {} of {}", count,
                  come_, bytes_.size());
    come_ += count;
  }
  bool is_whole() const { return come_ == bytes_.size(); }

  const ParcelHead& head() const { return head_; }
  ProcessBytes take() { return std::move(bytes_); }

 private:
  ParcelHead head_;
  ProcessBytes bytes_;
  std::size_t come_ = 0;
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

  // keep_if_whole does so with a parcel that has come as a whole, in whose place nothing is left.
  void keep_if_whole(std::optional<ComingParcel>& parcel) {
    if (!parcel->is_whole()) return;
    keep(parcel->head(), parcel->take());
    parcel.reset();
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
