#pragma once

#include <gsl/span>

#include "core/clock/device_model.h"
#include "gate/gate_keys.h"

namespace simmesh {

// DeviceFigure is a figure of the model of a device that a gate may give, under its own name.
struct DeviceFigure {
  const char* key;
  double& (*of)(DeviceModel& model);
  GateTable::NumberRange range;
};

// device_figures returns all of them, in the order of DeviceModel.
gsl::span<const DeviceFigure> device_figures();

// read_gate_device reads the table [device].
DeviceModel read_gate_device(GateTable& table);

}  // namespace simmesh
