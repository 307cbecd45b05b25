#include "core/check/start_threads.h"

#include <future>
#include <new>
#include <system_error>
#include <utility>

#include "core/check/error.h"
#include "core/check/scarcity.h"

namespace simmesh {

namespace {

[[noreturn]] void refuse(const ThreadsToStart& threads, std::size_t started,
                         std::string_view reason) {
  Error error(ErrorKind::runtime_error, threads.where,
              fmt::format("expected to start {} thread{}, got {} before the system refused one: {}",
                          threads.count, threads.count == 1 ? "" : "s", started, reason));
  Scarcity::note(error.what());
  throw error;
}

}  // namespace

std::vector<std::jthread> start_threads(const ThreadsToStart& threads,
                                        const std::function<void(std::size_t)>& work) {
  std::promise<bool> all_started;
  std::shared_future<bool> begins = all_started.get_future().share();
  std::vector<std::jthread> started;
  auto give_up = [&](std::string_view reason) {
    std::size_t count = started.size();
    all_started.set_value(false);
    started.clear();
    refuse(threads, count, reason);
  };
  try {
    started.reserve(threads.count);
    for (std::size_t i = 0; i < threads.count; ++i)
      started.emplace_back([begins, &work, i] {
        if (begins.get()) work(i);
      });
  } catch (const std::system_error& error) {
    give_up(error.code().message());
  } catch (const std::bad_alloc&) {
    give_up("not enough memory");
  }
  all_started.set_value(true);
  return started;
}

std::thread start_thread(std::string_view where, std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    refuse({.where = where, .count = 1}, 0, error.code().message());
  }
}

}  // namespace simmesh
