#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/engine/search/run_order.h"

namespace simmesh {

// EventOrder is the beginning of a run as the ranks whose events come first, in their order.
using EventOrder = std::vector<RankId>;

// FairTurns is the way in which a run goes on where its order says nothing: the rank that has had
// the fewest events comes next, and the lower one of two. It is a function of the events that have
// happened, whatever their order.
class FairTurns {
 public:
  // add lets a rank take part; its next event can happen now. next takes the rank whose event
  // comes next out, and take a given one; false if it doesn't take part. no_rank if nobody does.
  void add(RankId rank) { waiting_.insert({events_[rank], rank}); }
  bool empty() const { return waiting_.empty(); }
  RankId next();
  bool take(RankId rank);

 private:
  std::map<RankId, std::size_t> events_;
  std::set<std::pair<std::size_t, RankId>> waiting_;
};

// next_orders returns the beginnings of the runs that a search makes after a run, each of which
// goes on by FairTurns.
//
// The classes of a program are the nodes of a tree, and a run tells the children of its class
// without asking any other run: reverse search (Avis and Fukuda, 1996) over the partial orders of
// runs. So each class is run once, none is run in vain, no set of classes is kept, and the parts of
// a search need not talk with one another.
//
// A run is seen as decisions: whenever FairTurns would let event n of a rank happen, the run either
// agrees, or n happens only after more events that it depends on. The last disagreement names the
// run: the events that were let through before n. Its parent is the run in which the last one of
// these, u, comes directly after n instead, and then all goes on by FairTurns. If several could be
// the last one, u is that of the highest rank.
std::vector<EventOrder> next_orders(const RunOrder& run);

}  // namespace simmesh
