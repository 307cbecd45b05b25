#include "core/check/scarcity.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace simmesh {

namespace {

struct NotedReason {
  // The one who takes the place writes the text, and then sets its size.
  std::atomic<bool> is_taken = false;
  std::atomic<std::size_t> size = 0;
  std::array<char, 600> text{};
};

constinit NotedReason noted;

}  // namespace

bool Scarcity::is_cause(int reason) noexcept {
  switch (reason) {
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return true;
    default: return false;
  }
}

void Scarcity::note(std::string_view reason) noexcept {
  if (noted.is_taken.exchange(true)) return;
  std::size_t size = std::min(reason.size(), noted.text.size());
  std::copy_n(reason.data(), size, noted.text.data());
  noted.size = size;
}

std::string_view Scarcity::reason() noexcept { return {noted.text.data(), noted.size}; }

void Scarcity::clear() noexcept {
  noted.size = 0;
  noted.is_taken = false;
}

void detail::raise_refused_formatted(int reason, ErrorKind kind, std::string_view where,
                                     fmt::string_view format, fmt::format_args args) {
  std::string text = fmt::vformat(format, args);
  if (reason != 0) text += ": " + std::generic_category().message(reason);
  Error error(kind, where, text);
  if (Scarcity::is_cause(reason)) Scarcity::note(error.what());
  throw error;
}

}  // namespace simmesh
