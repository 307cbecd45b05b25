#include "core/engine/rank.h"

#include <cstring>

#include "core/check/bits_hash.h"
#include "core/check/error.h"
#include "core/engine/run.h"
#include "core/memory/data_mode.h"

namespace simmesh {

World& Rank::world() { return run_->world(); }

void Rank::record(const Tensor& output) {
  data_hash_.fold(std::uint64_t(output.dtype()));
  for (std::int64_t size : output.shape()) data_hash_.fold(std::uint64_t(size));
  if (DataMode::shapes_only()) return;
  Ledger::Workspace workspace;
  Tensor rows = output.contiguous();
  data_hash_.fold(bits_hash({rows.data(), rows.bytes()}));
}

void Rank::expect_same_bits(const Tensor& actual, const Tensor& expected) const {
  if (same_bits(actual, expected)) return;
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape())
    raise(ErrorKind::runtime_error, "engine/expect_same_bits", "rank {}: expected {}{}, got {}{}",
          id_, to_string(expected.dtype()), to_string(DimSpan(expected.shape())),
          to_string(actual.dtype()), to_string(DimSpan(actual.shape())));
  Tensor got = actual.contiguous(), wanted = expected.contiguous();
  std::size_t size = bytes_per_element(got.dtype());
  std::size_t at = 0;
  while (std::memcmp(got.data() + at * size, wanted.data() + at * size, size) == 0) ++at;
  std::int64_t position = std::int64_t(at);
  Tensor got_one = got.view(Dims{got.element_count()}).narrow({0, position, 1});
  Tensor wanted_one = wanted.view(Dims{got.element_count()}).narrow({0, position, 1});
  raise(ErrorKind::runtime_error, "engine/expect_same_bits",
        "rank {}: element {} of shape {} differs: expected {}, got {}", id_, at,
        to_string(DimSpan(got.shape())), to_string(wanted_one), to_string(got_one));
}

}  // namespace simmesh
