#include "checkpoint/format/new_folder.h"

#include "checkpoint/store/remove_after_failure.h"
#include "core/check/error.h"

namespace simmesh::checkpoint {

void in_new_folder(const Location& to, const std::function<void()>& write) {
  if (!to.store->files(to.name).empty() || to.store->size(to.name))
    raise(ErrorKind::value_error, "checkpoint/convert",
          "{} exists; choose another name, or remove it first", to.text());
  try {
    write();
  } catch (...) {
    remove_after_failure(*to.store, to.name);
    throw;
  }
}

}  // namespace simmesh::checkpoint
