#include "core/memory/memory_reserve.h"

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <gtest/gtest.h>
#include <new>
#include <sys/resource.h>
#include <vector>

namespace simmesh {
namespace {

#if !defined(SIMMESH_ASAN) && !defined(SIMMESH_TSAN)

void limit_address_space() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = rlim_t(1) << 29;
  setrlimit(RLIMIT_AS, &limit);
}

// Takes memory until there is none, and returns what it has.
std::vector<void*> take_all() {
  std::vector<void*> taken;
  taken.reserve(1 << 16);
  try {
    for (;;) taken.push_back(::operator new(64 * 1024));
  } catch (const std::bad_alloc&) {
    return taken;
  }
}

constexpr std::size_t megabyte = std::size_t(1) << 20;

// If this fails, nothing can be told or cleaned up once memory has run out.
TEST(MemoryReserveDeathTest, TheFirstFailureFreesSomeMemory) {
  auto run = [] {
    limit_address_space();
    MemoryReserve reserve(5);
    take_all();
    std::vector<char> report(megabyte);
    std::_Exit(report.size() == megabyte ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

// If this fails, a program crashes or hangs where even the reserve is used up.
TEST(MemoryReserveDeathTest, TheLastFailureEndsTheProgram) {
  auto run = [] {
    limit_address_space();
    MemoryReserve reserve(5);
    take_all();
    for (;;) take_all();
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(5), "simmesh: not enough memory: the process uses");
}

void* volatile kept = nullptr;  // a compiler may leave out what nobody keeps

void allocate_where_nothing_may_be_thrown() noexcept {
  for (;;) kept = ::operator new(megabyte);
}

// If this fails, a lack of memory in a noexcept function is a crash.
TEST(MemoryReserveDeathTest, NoexceptFunctionsEndTheProgram) {
  auto run = [] {
    limit_address_space();
    MemoryReserve reserve(5);
    allocate_where_nothing_may_be_thrown();
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(5), "simmesh: not enough memory");
}

#endif

template <class Exception>
void raise_one(const Exception& exception) {
  throw exception;
}

template <class Exception>
void raise_where_nothing_may_be_thrown(const Exception& exception) noexcept {
  raise_one(exception);
}

// If this fails, a lack of memory that another library found is a crash.
TEST(MemoryReserveDeathTest, ABadAllocOfAnotherLibraryEndsTheProgram) {
  auto run = [] {
    MemoryReserve reserve(5);
    raise_where_nothing_may_be_thrown(std::bad_alloc());
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(5), "simmesh: not enough memory");
}

// If this fails, other exceptions that end a program are told as a lack of memory.
TEST(MemoryReserveDeathTest, OtherExceptionsEndTheProgramAsBefore) {
  auto run = [] {
    MemoryReserve reserve(5);
    raise_where_nothing_may_be_thrown(7);
  };
  EXPECT_EXIT(run(), ::testing::KilledBySignal(SIGABRT), "terminate called");
}

// If this fails, a program that uses a part of ours loses its own handlers, or a second reserve
// takes the place of the first.
TEST(MemoryReserve, GivesTheHandlersBack) {
  std::new_handler before = std::get_new_handler();
  std::terminate_handler terminate_before = std::get_terminate();
  {
    MemoryReserve reserve(5);
    std::new_handler own = std::get_new_handler();
    EXPECT_NE(own, before);
    { MemoryReserve within(6); }
    EXPECT_EQ(std::get_new_handler(), own);
  }
  EXPECT_EQ(std::get_new_handler(), before);
  EXPECT_EQ(std::get_terminate(), terminate_before);
}

}  // namespace
}  // namespace simmesh
