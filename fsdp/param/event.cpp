#include "fsdp/param/event.h"

namespace simmesh::fsdp {

std::string_view to_string(TrainingState state) {
  static constexpr std::string_view names[] = {"idle", "forward", "pre_backward", "post_backward"};
  return names[std::size_t(state)];
}

std::string_view to_string(ShardedState state) {
  static constexpr std::string_view names[] = {"sharded", "sharded_post_forward", "unsharded"};
  return names[std::size_t(state)];
}

std::string_view to_string(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

std::string_view to_string(EventKind kind) {
  static constexpr std::string_view names[] = {"lazy_init",
                                               "group_lazy_init",
                                               "reset_sharded_param",
                                               "forward_root",
                                               "unshard",
                                               "all_gather",
                                               "wait",
                                               "prefetch",
                                               "reshard",
                                               "record_post_forward",
                                               "pre_backward",
                                               "post_backward",
                                               "reduce_scatter",
                                               "all_reduce",
                                               "root_callback",
                                               "finalize"};
  return names[std::size_t(kind)];
}

}  // namespace simmesh::fsdp
