#include "core/engine/spread/processes.h"

#include <gtest/gtest.h>

namespace simmesh {
namespace {

// A caller could not tell which process has ended.
TEST(Processes, ALostOneIsNamed) {
  ProcessLost lost(2, "process 2 has ended");
  EXPECT_EQ(lost.process(), 2);
  EXPECT_STREQ(lost.what(), "process 2 has ended");
}

class ThreeProcesses final : public Processes {
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

// A process would send itself what it tells all.
TEST(Processes, TheOthersAreAllButThisOne) {
  EXPECT_EQ(ThreeProcesses().others(), (std::vector<int>{0, 2}));
}

}  // namespace
}  // namespace simmesh
