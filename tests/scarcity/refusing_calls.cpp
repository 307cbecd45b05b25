// A library for LD_PRELOAD that lets calls fail as a system does that has no memory or no room on
// its disks. It counts the program's own calls:
//   SIMMESH_REFUSED_ALLOCATION=7   the seventh allocation fails
//   SIMMESH_REFUSED_WRITE=7        the seventh write to a file fails
//   SIMMESH_REFUSES_ON=1           so do all later ones

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

// The allocator of glibc by the names under which it can't be replaced.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_calloc(std::size_t count, std::size_t bytes);
extern "C" void* __libc_realloc(void* block, std::size_t bytes);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);
extern "C" void __libc_free(void* block);
// NOLINTEND(bugprone-reserved-identifier)

namespace {

// CallCount is the number of calls so far, and the one that is refused; 0 for none.
struct CallCount {
  std::atomic<long> done = 0;
  long refused = 0;

  bool refuses() {
    if (refused == 0) return false;
    long number = ++done;
    return refuses_on ? number >= refused : number == refused;
  }
  bool has_refused_for_good() const { return refused != 0 && refuses_on && done >= refused; }

  static inline bool refuses_on = false;
};

constinit CallCount allocations, writes;

long number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atol(text) : 0;
}

// Runs when the library is loaded. Programs that this one starts are left alone.
[[gnu::constructor]] void read_environment() {
  allocations.refused = number_of("SIMMESH_REFUSED_ALLOCATION");
  writes.refused = number_of("SIMMESH_REFUSED_WRITE");
  CallCount::refuses_on = number_of("SIMMESH_REFUSES_ON") != 0;
  unsetenv("LD_PRELOAD");
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

// True if a write to a file fails. The three standard streams always work.
bool refuses_write(int file) {
  if (file <= STDERR_FILENO || !writes.refuses()) return false;
  errno = ENOSPC;
  return true;
}

// Takes memory as operator new does: the handler may free some before the next attempt.
template <class Take>
void* block_of(const Take& take) {
  for (;;) {
    if (void* block = take()) return block;
    std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
  return allocations.refuses() ? no_memory() : __libc_malloc(bytes);
}
extern "C" void* calloc(std::size_t count, std::size_t bytes) {
  return allocations.refuses() ? no_memory() : __libc_calloc(count, bytes);
}
extern "C" void* realloc(void* block, std::size_t bytes) {
  return allocations.refuses() ? no_memory() : __libc_realloc(block, bytes);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return allocations.refuses() ? no_memory() : __libc_memalign(alignment, bytes);
}
extern "C" int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = allocations.refuses() ? nullptr : __libc_memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
extern "C" void* memalign(std::size_t alignment, std::size_t bytes) {
  return aligned_alloc(alignment, bytes);
}
extern "C" void free(void* block) { __libc_free(block); }

// An allocator that replaces that of glibc has operators of its own, which don't call malloc.
void* operator new(std::size_t bytes) {
  return block_of([bytes] { return malloc(bytes); });
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return block_of([=] { return aligned_alloc(std::size_t(alignment), bytes); });
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothing) noexcept {
  return operator new(bytes, nothing);
}
void operator delete(void* block) noexcept { free(block); }
void operator delete(void* block, std::size_t) noexcept { free(block); }
void operator delete(void* block, std::align_val_t) noexcept { free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block) noexcept { free(block); }
void operator delete[](void* block, std::size_t) noexcept { free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { free(block); }

// Mappings are larger than the blocks of malloc, so only a lasting want refuses them.
extern "C" void* mmap(void* at, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) {
  static auto* const real = next(&mmap, "mmap");
  if (!allocations.has_refused_for_good()) return real(at, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

extern "C" ssize_t write(int file, const void* bytes, std::size_t count) {
  static auto* const real = next(&write, "write");
  return refuses_write(file) ? -1 : real(file, bytes, count);
}
extern "C" ssize_t writev(int file, const iovec* parts, int count) {
  static auto* const real = next(&writev, "writev");
  return refuses_write(file) ? -1 : real(file, parts, count);
}
