#include "zero/fetch/param_status.h"

#include <algorithm>

#include "core/check/error.h"

namespace simmesh::zero {

namespace {

constexpr std::string_view status_source = "zero/param_status";

std::uint8_t bit_of(Pass pass) { return pass == Pass::forward ? 1 : 2; }

}  // namespace

std::string_view to_string(ParamStatus status) {
  static constexpr std::string_view names[] = {"NOT_AVAILABLE", "INFLIGHT", "AVAILABLE"};
  return names[std::size_t(status)];
}

std::string_view to_string(Pass pass) { return pass == Pass::forward ? "forward" : "backward"; }

void ParamStatuses::begin_gather(ParamId id) {
  ParamStatus& status = entries_[std::size_t(id)].status;
  if (status != ParamStatus::not_available)
    raise(ErrorKind::runtime_error, status_source,
          "expected parameter {} to be NOT_AVAILABLE when it is gathered, got {}", id,
          to_string(status));
  status = ParamStatus::inflight;
}

void ParamStatuses::finish_gather(ParamId id) {
  ParamStatus& status = entries_[std::size_t(id)].status;
  if (status != ParamStatus::inflight)
    raise(ErrorKind::runtime_error, status_source,
          "expected parameter {} to be INFLIGHT when its gather is waited for, got {}", id,
          to_string(status));
  status = ParamStatus::available;
}

void ParamStatuses::release(ParamId id) {
  Entry& entry = entries_[std::size_t(id)];
  if (entry.status == ParamStatus::inflight)
    raise(ErrorKind::assertion_error, status_source,
          "expected parameter {} not to be INFLIGHT when it is partitioned", id);
  if (entry.status != ParamStatus::available)
    raise(ErrorKind::runtime_error, status_source,
          "expected parameter {} to be AVAILABLE when it is partitioned, got {}", id,
          to_string(entry.status));
  if (!entry.users.empty())
    raise(ErrorKind::runtime_error, status_source,
          "expected parameter {} not to be in use when it is freed, got module {} that uses it", id,
          entry.users.front().module);
  entry.status = ParamStatus::not_available;
}

void ParamStatuses::use(ParamId id, ModuleId module, Pass pass) {
  auto& users = entries_[std::size_t(id)].users;
  for (User& user : users) {
    if (user.module != module) continue;
    user.passes |= bit_of(pass);
    return;
  }
  users.push_back({module, bit_of(pass)});
}

void ParamStatuses::unuse(ParamId id, ModuleId module, Pass pass) {
  remove(id, module, bit_of(pass));
}

void ParamStatuses::unuse(ParamId id, ModuleId module) {
  remove(id, module, std::uint8_t(bit_of(Pass::forward) | bit_of(Pass::backward)));
}

void ParamStatuses::remove(ParamId id, ModuleId module, std::uint8_t passes) {
  auto& users = entries_[std::size_t(id)].users;
  auto user = std::find_if(users.begin(), users.end(),
                           [module](const User& entry) { return entry.module == module; });
  if (user == users.end()) return;
  user->passes &= std::uint8_t(~passes);
  if (user->passes == 0) users.erase(user);
}

}  // namespace simmesh::zero
