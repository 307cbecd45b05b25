#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace simmesh {

// ThreadsToStart is a number of threads, and the words for them in errors: "[engine/jobs] ...".
struct ThreadsToStart {
  std::string_view where;
  std::size_t count = 0;
};

// start_threads starts threads that call work(0), work(1) and so on, each its own. The function
// must outlive them. None begins before all have been started. If one can't be started none runs,
// and a RuntimeError with the system's reason is raised.
std::vector<std::jthread> start_threads(const ThreadsToStart& threads,
                                        const std::function<void(std::size_t)>& work);

// start_thread starts one thread, and raises the same error.
std::thread start_thread(std::string_view where, std::function<void()> work);

}  // namespace simmesh
