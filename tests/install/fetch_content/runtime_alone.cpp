#include <fmt/core.h>

#include <simmesh/core/engine/world.h>

using namespace simmesh;

int main() {
  World world({.ranks = 4});
  fmt::print("{}\n", world.run([](Rank& rank) { rank.record(rank.id()); }));
}
