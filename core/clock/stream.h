#pragma once

#include <string>

#include "core/clock/clock.h"

namespace simmesh {

// StreamEvent is a point in a stream. A default one, or one that was recorded where no device is
// modelled, has already happened: waiting for it does nothing.
class StreamEvent {
 public:
  StreamEvent() = default;
  explicit StreamEvent(DeviceEvent event) : event_(std::move(event)) {}

  // synchronize makes the host wait for it: what the host does later comes after.
  void synchronize() const;
  const DeviceEvent& event() const { return event_; }

 private:
  DeviceEvent event_;
};

// Stream is a queue of operations of this rank's device: they run one after another, and beside
// those of other streams. A cheap value. Where WorldOptions::device models no device, all of this
// does nothing.
//
//   Stream copies = Stream::make("copies");
//   copies.wait(Stream::current());       // what was launched so far
//   {
//     StreamScope scope(copies);          // operations and storages below are on copies
//     staged = x.clone();
//   }
//   StreamEvent copied = copies.record();
//   Stream::current().wait(copied);       // before staged is used
class Stream {
 public:
  // The default stream, which computes.
  Stream() = default;
  explicit Stream(StreamIndex index) : index_(index) {}

  // make returns a new stream of this rank's device; reports have its name. current returns the one
  // on which operations are launched now.
  static Stream make(std::string name);
  static Stream current();

  StreamIndex index() const { return index_; }

  // record returns the point behind all that was launched on the stream so far.
  StreamEvent record() const;
  // wait lets all later launches on the stream begin after the event, or after all earlier launches
  // on the other stream. The host continues.
  void wait(const StreamEvent& event) const;
  void wait(const Stream& other) const;
  // synchronize makes the host wait for everything launched so far.
  void synchronize() const { record().synchronize(); }
  // uses notes that the stream uses a storage of another stream: once freed, its memory isn't
  // reused until the host knows that the stream has finished with it.
  void uses(DeviceAddress address) const;

  bool operator==(const Stream&) const = default;

 private:
  StreamIndex index_ = 0;
};

// StreamScope makes a stream the current one of this rank while it lives.
class StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream outer_;
};

}  // namespace simmesh
