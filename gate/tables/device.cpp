#include "gate/tables/device.h"

#include <limits>

namespace simmesh {

namespace {

constexpr GateTable::NumberRange speeds{1e-6, 1e9}, durations{0, 1e9};

constexpr DeviceFigure figures[] = {
    {"launch_us", [](DeviceModel& model) -> double& { return model.launch_us; }, durations},
    {"memory_gb_s", [](DeviceModel& model) -> double& { return model.memory_gb_s; }, speeds},
    {"host_gb_s", [](DeviceModel& model) -> double& { return model.host_gb_s; }, speeds},
    {"teraflops", [](DeviceModel& model) -> double& { return model.teraflops; }, speeds},
    {"link_intra_gb_s",
     [](DeviceModel& model) -> double& { return model.topology.bandwidth_intra_gb_s; }, speeds},
    {"link_inter_factor",
     [](DeviceModel& model) -> double& { return model.topology.bandwidth_inter_factor; }, speeds},
    {"link_latency_intra_us",
     [](DeviceModel& model) -> double& { return model.topology.latency_intra_us; }, durations},
    {"link_latency_inter_us",
     [](DeviceModel& model) -> double& { return model.topology.latency_inter_us; }, durations},
    {"collective_base_us", [](DeviceModel& model) -> double& { return model.topology.base_us; },
     durations},
};

}  // namespace

gsl::span<const DeviceFigure> device_figures() { return figures; }

DeviceModel read_gate_device(GateTable& table) {
  DeviceModel model;
  for (const DeviceFigure& figure : figures)
    figure.of(model) = table.number(figure.key, figure.of(model), figure.range);
  model.capacity_bytes = table.integer("capacity_bytes", model.capacity_bytes,
                                       {0, std::numeric_limits<std::int64_t>::max()});
  model.checks_races = table.boolean("checks_races", model.checks_races);
  std::int64_t& devices = model.topology.devices_per_host;
  devices = table.integer("devices_per_host", devices, {1, 4096});
  table.finish();
  return model;
}

}  // namespace simmesh
