#include <gmock/gmock.h>

#include "gate/explain.h"
#include "tests/gate/gate_texts.h"

namespace simmesh {
namespace {

using ::testing::HasSubstr;

// Without a device there are no times; with one, reports take no time.
TEST(DeviceCheck, PrintsExposedCommunication) {
  GateResult plain = testing::run_text(testing::sharded_layer);
  EXPECT_FALSE(plain.device);
  std::string device = "[device]\nteraflops = 1.0\ncapacity_bytes = 1_000_000_000\n";
  GateFile gate = gate_from_text(
      testing::sharded_layer + device + "[expect]\nschedules = 2\nexposed_us_max = 0.5\n",
      "g.toml");
  GateResult result = run_gate(gate);
  EXPECT_EQ(result.data_hash, plain.data_hash);
  EXPECT_GT(result.device->exposed_communication_us, 0.0);
  EXPECT_GT(result.device->makespan_us, result.device->exposed_communication_us);
  EXPECT_GT(result.device->reserved_bytes, 0);
  EXPECT_FALSE(testing::check_of(result, "exposed_us_max").passed);
  EXPECT_TRUE(testing::check_of(result, "device").passed);
  EXPECT_THAT(testing::text_of(result), HasSubstr(" us, communication exposed for "));
  EXPECT_EQ(explain(gate_from_text(explain(gate), "g.toml")), explain(gate));
  EXPECT_THAT(explain(gate), HasSubstr("\n[device]\nlaunch_us = 2.0\n"));
}

TEST(DeviceCheck, RefusesExposedTimeWithoutADevice) {
  EXPECT_THAT(testing::refusal_of(testing::sharded_layer + "[expect]\nexposed_us_max = 1.0\n"),
              HasSubstr("no such key in a gate without the table [device]"));
}

// A device that is too small ends the run with devices, and no other run.
TEST(DeviceCheck, ADeviceThatIsTooSmallFails) {
  GateResult result = testing::run_text(testing::sharded_layer +
                                        "[device]\ncapacity_bytes = 1024\n[expect]\n"
                                        "exposed_us_max = 1.0\n");
  EXPECT_FALSE(testing::check_of(result, "device").passed);
  EXPECT_TRUE(testing::check_of(result, "run").passed);
  EXPECT_FALSE(result.device);
  EXPECT_EQ(result.checks.size(), 3u) << "a run without figures has no exposed time";
}

}  // namespace
}  // namespace simmesh
