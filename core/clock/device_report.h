#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/memory/caching_allocator.h"

namespace simmesh {

// DeviceReport is what a rank's simulated device did in a run, in virtual time. It is a pure
// function of the program and the DeviceModel.
struct DeviceReport {
  // Stream is what one of the device's streams did.
  struct Stream {
    std::string name;
    double busy_us = 0;  // a collective is busy while it waits for other ranks
    std::uint64_t operations = 0;
    // The time that the first stream was idle because it waited for this one.
    double exposed_us = 0;
  };

  std::vector<Stream> streams;  // the first one computes
  // makespan_us is the time at which the last operation ends. Where operations wait for one another
  // across streams and ranks, which would hang a cluster, it is the time so far, and is_complete is
  // false.
  double makespan_us = 0;
  bool is_complete = true;
  // exposed_communication_us is the time that the first stream was idle because it waited for a
  // collective or message, or for a stream that runs some.
  double exposed_communication_us = 0;
  AllocatorFigures memory;
};

}  // namespace simmesh
