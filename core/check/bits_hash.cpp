#include <new>
#include <xxhash.h>
// Where the library brings its code for several vector units, the widest one of this CPU is used.
// The bits are the same. That code returns with the upper halves of the vector registers in use.
#ifdef SIMMESH_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include "core/check/bits_hash.h"
#include "core/check/vector_registers.h"

namespace simmesh {

struct BitsHash::State {
  XXH3_state_t* xxhash = XXH3_createState();
  State() {
    if (!xxhash) throw std::bad_alloc();
    XXH3_64bits_reset(xxhash);
  }
  ~State() { XXH3_freeState(xxhash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

std::uint64_t bits_hash(gsl::span<const std::byte> bytes) {
  std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  release_upper_halves();
  return hash;
}

BitsHash::BitsHash() : state_(std::make_unique<State>()) {}
BitsHash::~BitsHash() = default;

void BitsHash::update(gsl::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->xxhash, bytes.data(), bytes.size());
  release_upper_halves();
}

std::uint64_t BitsHash::value() const {
  std::uint64_t hash = XXH3_64bits_digest(state_->xxhash);
  release_upper_halves();
  return hash;
}

}  // namespace simmesh
