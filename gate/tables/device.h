#pragma once

#include <gsl/span>

#include "core/clock/device_model.h"
#include "gate/tables/keys.h"

namespace simmesh {

// DeviceFigure is a number of the device model that a gate can set, with its key.
struct DeviceFigure {
  const char* key;
  double& (*of)(DeviceModel& model);
  GateTable::NumberRange range;
};

// device_figures returns all of these numbers, in the order of DeviceModel.
gsl::span<const DeviceFigure> device_figures();

// read_gate_device reads the table [device].
DeviceModel read_gate_device(GateTable& table);

}  // namespace simmesh
