#pragma once

#include <cstdint>
#include <gsl/span>

namespace simmesh {

// Link is the connection between the members of one group.
struct Link {
  double bandwidth_gb_s;  // GB = 2^30 bytes
  double latency_us;      // of one hop

  bool operator==(const Link&) const = default;
};

// Topology is the cost table of a simulated cluster: everything on which the cost of a collective
// or a message depends. It is a plain value, so a plan that is chosen by cost is a function of its
// arguments and never of the machine that computes it. The defaults are those of PyTorch's planner
// (NVLink inside a host, Ethernet between hosts, ring algorithms).
//
//   Topology topology{.devices_per_host = 8};
//   double us = topology.all_gather_us(1 << 20, 4, topology.link(Dims{2, 4}, 1));
struct Topology {
  std::int64_t devices_per_host = 1;
  double bandwidth_intra_gb_s = 87.7;
  double bandwidth_inter_factor = 0.22;
  double latency_intra_us = 0.6;
  double latency_inter_us = 2.7;
  double base_us = 6.6;
  double all_to_all_penalty_us = 1.0;

  // link returns the link of the groups along mesh_dim. Walking the mesh from its last dim, a dim
  // stays inside the host as long as the product of the sizes is at most devices_per_host.
  Link link(gsl::span<const std::int64_t> mesh_shape, std::int64_t mesh_dim) const;
  // link_among returns the link of a set of ranks, given its lowest and its highest rank. The ranks
  // of a host are numbered one after another.
  Link link_among(std::int64_t lowest, std::int64_t highest) const;

  // all_gather_us is the time until each of the members holds all of the result. `bytes` is the
  // size of that result, not of one piece.
  double all_gather_us(double bytes, std::int64_t members, Link link) const;

  // reduce_scatter_us is the time of a reduce-scatter; `bytes` is the size of each member's input.
  double reduce_scatter_us(double bytes, std::int64_t members, Link link) const;

  // all_reduce_us is the time of an all-reduce of tensors of `bytes`: twice the hops of a
  // reduce-scatter.
  double all_reduce_us(double bytes, std::int64_t members, Link link) const;

  // all_to_all_us is the time of an all-to-all in which each member holds `bytes` before and after
  // it.
  double all_to_all_us(double bytes, std::int64_t members, Link link) const;

  // message_us is the time of `bytes` from one rank to another.
  double message_us(double bytes, Link link) const;

  bool operator==(const Topology&) const = default;
};

}  // namespace simmesh
