#include "core/clock/topology.h"

#include <fmt/format.h>

#include "core/check/check.h"
#include "core/check/join_text.h"

namespace simmesh {
namespace {

// The order of these operations is part of the contract: planners compare such sums for equality.
double ring_us(double bytes, double hops, std::int64_t members, double base_us, Link link) {
  const double gigabytes = bytes / 1024.0 / 1024.0 / 1024.0;
  const double latency_us = base_us + hops * link.latency_us;
  const double seconds = gigabytes * hops / static_cast<double>(members) / link.bandwidth_gb_s;
  return latency_us + seconds * 1e6;
}

Link link_of(const Topology& topology, bool is_inside) {
  if (is_inside) return {topology.bandwidth_intra_gb_s, topology.latency_intra_us};
  return {topology.bandwidth_intra_gb_s * topology.bandwidth_inter_factor,
          topology.latency_inter_us};
}

}  // namespace

Link Topology::link(gsl::span<const std::int64_t> mesh_shape, std::int64_t mesh_dim) const {
  SIMMESH_CHECK(mesh_dim >= 0 && mesh_dim < static_cast<std::int64_t>(mesh_shape.size()),
                "mesh dim {} of a mesh [{}]", mesh_dim, join_text(mesh_shape, ", "));
  std::int64_t devices = 1;
  bool inside = true;
  for (auto dim = static_cast<std::int64_t>(mesh_shape.size()); inside && dim-- > mesh_dim;) {
    inside =
        !__builtin_mul_overflow(devices, mesh_shape[dim], &devices) && devices <= devices_per_host;
  }
  return link_of(*this, inside);
}

Link Topology::link_among(std::int64_t lowest, std::int64_t highest) const {
  return link_of(*this, lowest / devices_per_host == highest / devices_per_host);
}

double Topology::all_gather_us(double bytes, std::int64_t members, Link link) const {
  return ring_us(bytes, static_cast<double>(members - 1), members, base_us, link);
}

double Topology::reduce_scatter_us(double bytes, std::int64_t members, Link link) const {
  return ring_us(bytes, static_cast<double>(members - 1), members, base_us, link);
}

double Topology::all_reduce_us(double bytes, std::int64_t members, Link link) const {
  return ring_us(bytes, static_cast<double>(2 * (members - 1)), members, base_us, link);
}

double Topology::all_to_all_us(double bytes, std::int64_t members, Link link) const {
  return ring_us(bytes, static_cast<double>(members - 1), members, base_us, link) +
         all_to_all_penalty_us;
}

double Topology::message_us(double bytes, Link link) const {
  return ring_us(bytes, 1, 1, base_us, link);
}

}  // namespace simmesh
