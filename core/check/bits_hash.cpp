#include <new>
#include <xxhash.h>
// Where the library brings its code for several vector units, the widest that this CPU has is used.
// The bits are the same.
#ifdef SIMMESH_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

#include <simmesh/core/check/bits_hash.h>

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
  return XXH3_64bits(bytes.data(), bytes.size());
}

BitsHash::BitsHash() : state_(std::make_unique<State>()) {}
BitsHash::~BitsHash() = default;

void BitsHash::update(gsl::span<const std::byte> bytes) {
  XXH3_64bits_update(state_->xxhash, bytes.data(), bytes.size());
}

std::uint64_t BitsHash::value() const { return XXH3_64bits_digest(state_->xxhash); }

}  // namespace simmesh
