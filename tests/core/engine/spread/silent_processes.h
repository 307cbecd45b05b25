#pragma once

#include <vector>

#include "core/engine/spread/processes.h"

namespace simmesh {

// SilentProcesses are three of which this is number 1, and which tell nothing.
class SilentProcesses final : public Processes {
 public:
  int number() const override { return 1; }
  int count() const override { return 3; }
  std::vector<ProcessBytes> exchange(gsl::span<const Parcel>, gsl::span<const int>,
                                     const Idle&) override {
    return {};
  }
  const ProcessBytes& note_of(int) const override { return note_; }

 private:
  ProcessBytes note_;
};

}  // namespace simmesh
