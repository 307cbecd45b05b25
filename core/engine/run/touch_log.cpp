#include "core/engine/run/touch_log.h"

#include <algorithm>
#include <iterator>

namespace simmesh {

void TouchLog::add(RankId rank, std::uint64_t object) {
  touches_.push_back({picks_.step(), rank, object});
  picks_.touched(rank, object);
}

void TouchLog::mark_adds_ordered(std::uint64_t object) {
  mark_sensitive(object);
  if (listener()) listener()->adds_keep_order(object);
}

void TouchLog::mark_disagreement(std::uint64_t object) {
  mark_adds_ordered(object);
  if (listener()) listener()->need_split_steps();
}

void TouchLog::mark_all_sensitive() {
  all_are_sensitive_ = true;
  if (listener()) listener()->need_split_steps();
}

std::vector<Touch> TouchLog::sensitive() const {
  std::vector<Touch> found;
  std::copy_if(touches_.begin(), touches_.end(), std::back_inserter(found),
               [this](const Touch& touch) {
                 return all_are_sensitive_ || sensitive_.count(touch.object) > 0;
               });
  return found;
}

}  // namespace simmesh
