#include "gate/tables/device.h"

#include <gtest/gtest.h>

#include "gate/tables/keys.h"
#include "tests/expect_error.h"

namespace simmesh {
namespace {

DeviceModel device_of(const std::string& text) {
  toml::table file = parse_toml(text, "g.toml");
  GateTable table(file, "g.toml", "device");
  return read_gate_device(table);
}

// If this fails, a figure of the table sets another one, and times are those of another device.
TEST(GateDevice, EachFigureSetsItsOwnMember) {
  for (const DeviceFigure& figure : device_figures()) {
    DeviceModel plain, changed = device_of(std::string(figure.key) + " = 7.5");
    EXPECT_EQ(figure.of(changed), 7.5) << figure.key;
    for (const DeviceFigure& other : device_figures())
      if (&other != &figure) {
        EXPECT_EQ(other.of(changed), other.of(plain)) << figure.key << " set " << other.key;
      }
  }
}

TEST(GateDevice, ReadsWhatIsNoFigure) {
  DeviceModel model =
      device_of("capacity_bytes = 1024\nchecks_races = false\ndevices_per_host = 4");
  EXPECT_EQ(model.capacity_bytes, 1024);
  EXPECT_FALSE(model.checks_races);
  EXPECT_EQ(model.topology.devices_per_host, 4);
}

TEST(GateDevice, RefusesWhatNoDeviceHas) {
  testing::expect_error([] { device_of("teraflops = 0"); }, ErrorKind::value_error, "teraflops");
  testing::expect_error([] { device_of("launch_us = -1"); }, ErrorKind::value_error, "launch_us");
  testing::expect_error([] { device_of("gigaflops = 1"); }, ErrorKind::value_error,
                        "device.gigaflops");
}

}  // namespace
}  // namespace simmesh
