#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstddef>
#include <gsl/span>
#include <utility>

#include "core/memory/buffer.h"
#include "core/memory/ledger.h"
#include "core/memory/lineages.h"
#include "core/memory/owner_count.h"

namespace simmesh {

class Storage;
using StoragePtr = boost::intrusive_ptr<Storage>;

// Storage is what the tensors of one rank view: a range of a buffer, with an identity that is never
// reused and a charge in the rank's ledger. Storages of different ranks may share one buffer; the
// first write through such a storage gives it bytes of its own, and all its views see them.
//
// Two kinds have no bytes: those of the meta device, and all that ranks of a World of shapes only
// make. The latter are charged, freed and restored like any other.
class Storage : public boost::intrusive_ref_counter<Storage, OwnerCount> {
 public:
  // make allocates uninitialised bytes, charged to the active ledger. Raises std::bad_alloc, or a
  // RuntimeError where the fault plan makes the allocation fail.
  static StoragePtr make(std::size_t bytes);

  // share makes a storage over `bytes` bytes of an existing buffer, from `offset` on, charged like
  // any other. In a World of shapes only the buffer isn't used and may be null.
  static StoragePtr share(BufferPtr buffer, std::size_t offset, std::size_t bytes);

  // make_unbacked makes a storage of the meta device, which stands for no memory of a rank; or, of
  // shapes only, one that is charged like any other.
  static StoragePtr make_unbacked(std::size_t bytes, bool charged);

  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  StorageId id() const { return id_; }
  std::size_t bytes() const { return bytes_; }
  // address is the storage's address in the simulated device; 0 where none is modelled, and for
  // memory outside the device.
  DeviceAddress address() const { return address_; }
  bool is_meta() const { return contents_ == Contents::meta; }
  // has_elements is true where there are bytes, or will be again once a freed storage is restored.
  bool has_elements() const { return contents_ == Contents::elements; }
  // buffer, data and mutable_data raise a RuntimeError for a storage without bytes.
  const BufferPtr& buffer() const { return buffer_ ? buffer_ : refuse(); }
  std::size_t buffer_offset() const { return offset_; }
  const std::byte* data() const { return buffer()->data() + offset_; }

  // mutable_data returns bytes that nobody else sees: it copies first where the buffer has other
  // owners. The companion is dropped for the range that will be written, by default the whole
  // storage.
  std::byte* mutable_data() { return mutable_data({0, bytes_}); }
  std::byte* mutable_data(const ByteRange& written);

  // adopt makes the storage share the given range, of the same length, in place of its own bytes or
  // of none; identity and charge stay. It restores a freed storage; in a World of shapes only it
  // does nothing else.
  void adopt(BufferPtr buffer, std::size_t offset);

  // free gives the bytes back, to the ledger too, while identity and views stay; restore gets as
  // many uninitialised ones. Both do nothing where there is nothing to do, as on the meta device,
  // and neither counts as a change.
  void free();
  void restore();
  bool is_freed() const { return is_freed_; }
  // require_bytes raises the RuntimeError of data() for a freed storage, also where there are only
  // shapes.
  void require_bytes() const {
    if (is_freed_) refuse();
  }

  // changes counts the changes of the storage's elements in place: a change makes stale what the
  // tape saved. mutable_data and adopt count. Code that writes elements which nobody can have seen,
  // or writes several times for one operation, sets the number itself.
  std::uint32_t changes() const { return changes_; }
  void count_change() { ++changes_; }
  void set_changes(std::uint32_t changes) { changes_ = changes; }

  // new_lineage returns the number of a new lineage of tensors that share the storage, from 1 on.
  std::uint32_t new_lineage() { return ++lineage_count_; }
  // lineages is what the tape keeps of them, null where it keeps nothing. It goes when no tensor is
  // left but those that the tape has saved.
  const LineagesPtr& lineages() const { return lineages_; }
  void set_lineages(LineagesPtr lineages) { lineages_ = std::move(lineages); }
  // count_saved counts the tensors that the tape has saved, which own the storage; +1 or -1.
  void count_saved(int change) { saved_count_ += std::uint32_t(change); }

 private:
  friend void intrusive_ptr_release(const Storage* storage) noexcept;

  enum class Contents : std::uint8_t { elements, meta, shape };

  Storage(Contents contents, BufferPtr buffer, std::size_t offset, std::size_t bytes,
          Ledger* ledger);
  PhysicalMemory* memory() const;
  void charge();
  void discharge();
  void revive();
  [[noreturn]] const BufferPtr& refuse() const;
  void drop_lineages() const noexcept;

  BufferPtr buffer_;
  std::size_t offset_;
  std::size_t bytes_;
  // A rank's storage has one of these: the ledger that is charged, or the memory of the World,
  // since its last owner may be another rank.
  boost::intrusive_ptr<Ledger> ledger_;
  boost::intrusive_ptr<PhysicalMemory> uncharged_in_;
  StorageId id_ = 0;
  DeviceAddress address_ = 0;
  std::uint32_t changes_ = 0;
  std::uint32_t lineage_count_ = 0;
  std::uint32_t saved_count_ = 0;
  mutable LineagesPtr lineages_;
  MemoryCategory category_ = MemoryCategory::other;
  Contents contents_;
  bool is_freed_ = false;
};

// Lets go of the lineages before the last owner goes that isn't a saved tensor: the tape that they
// own may have saved tensors of this storage, which would own each other.
inline void intrusive_ptr_release(const Storage* storage) noexcept {
  if (storage->lineages_ && storage->use_count() == storage->saved_count_ + 1) [[unlikely]]
    storage->drop_lineages();
  intrusive_ptr_release(
      static_cast<const boost::intrusive_ref_counter<Storage, OwnerCount>*>(storage));
}

}  // namespace simmesh
