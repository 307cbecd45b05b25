#include "checkpoint/save_load/load_report.h"

#include <gtest/gtest.h>

namespace simmesh::checkpoint {
namespace {

// Only this figure shows a load that reads more than it needs.
TEST(LoadReport, TellsHowMuchWasReadForWhatWasNeeded) {
  LoadReport report;
  EXPECT_EQ(report.way, LoadWay::planned);
  EXPECT_EQ(report.read_amplification(), 1.0) << "nothing was needed";
  report.bytes_needed = 8;
  report.bytes_read = 20;
  EXPECT_EQ(report.read_amplification(), 2.5);
}

}  // namespace
}  // namespace simmesh::checkpoint
