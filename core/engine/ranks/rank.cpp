#include "core/engine/ranks/rank.h"

#include "core/check/error.h"
#include "core/clock/clock.h"

namespace simmesh {

Rank::Rank(const Owner& owner, RankId id, std::uint64_t seed, boost::intrusive_ptr<Ledger> ledger,
           std::unique_ptr<Clock> clock)
    : run_(&owner.run),
      ledger_(std::move(ledger)),
      clock_(std::move(clock)),
      random_(seed, id),
      id_(id),
      run_number_(owner.number) {}

Rank::~Rank() = default;
Rank::Rank(Rank&& other) noexcept = default;

void Rank::refuse_difference(std::string_view difference, const CallSite& site) const {
  raise(ErrorKind::runtime_error, "engine/expect_same_bits", "rank {} at {}: {}", id_,
        to_string(site), difference);
}

Rank& this_rank() {
  if (!in_rank())
    raise(ErrorKind::runtime_error, "engine/world",
          "expected to be called from a rank: inside the body that World::run runs");
  return *Rank::active();
}

}  // namespace simmesh
