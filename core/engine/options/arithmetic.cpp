#include "core/engine/options/arithmetic.h"

#include "core/check/check.h"
#include "core/check/error.h"

namespace simmesh {

namespace {

void check_at_least_one(std::int64_t a, std::int64_t b, std::string_view what) {
  if (a < 1 || b < 1)
    raise(ErrorKind::value_error, "engine/arithmetic", "expected {} of at least 1, got {} and {}",
          what, a, b);
}

}  // namespace

Arithmetic Arithmetic::as_nccl_ring(const NcclRing& options) {
  check_at_least_one(options.channels, options.chunk_bytes, "channels and chunk bytes");
  Arithmetic result(Mode::as_nccl_ring);
  result.nccl_ring_ = options;
  return result;
}

Arithmetic Arithmetic::as_nccl_tree(const NcclTree& options) {
  check_at_least_one(options.ranks_per_host, options.channels, "ranks per host and channels");
  Arithmetic result(Mode::as_nccl_tree);
  result.nccl_tree_ = options;
  return result;
}

Arithmetic Arithmetic::parse(std::string_view name) {
  for (const Arithmetic& known :
       {canonical(), exact(), rank_order(), as_nccl_ring(), as_nccl_tree(), as_gloo_ring()})
    if (known.name() == name) return known;
  raise(
      ErrorKind::value_error, "arithmetic",
      "expected canonical, exact, rank_order, as_nccl_ring, as_nccl_tree or as_gloo_ring, got '{}'",
      name);
}

std::string_view Arithmetic::name() const {
  switch (mode_) {
    case Mode::canonical: return "canonical";
    case Mode::rank_order: return "rank_order";
    case Mode::exact: return "exact";
    case Mode::as_nccl_ring: return "as_nccl_ring";
    case Mode::as_nccl_tree: return "as_nccl_tree";
    case Mode::as_gloo_ring: return "as_gloo_ring";
  }
  SIMMESH_CHECK(false, "unknown Arithmetic {}", static_cast<int>(mode_));
}

}  // namespace simmesh
