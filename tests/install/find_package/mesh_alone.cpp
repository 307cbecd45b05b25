#include <fmt/core.h>

#include <simmesh/mesh/device_mesh.h>

int main() {
  auto mesh = simmesh::DeviceMesh::init({.rank = 5, .world_size = 8}, {2, 4}, {"dp", "tp"});
  fmt::print("{}\n", mesh["tp"].get_local_rank());
}
