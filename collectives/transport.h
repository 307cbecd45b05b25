#pragma once

#include "collectives/exchange.h"
#include "core/engine/options/arithmetic.h"

namespace simmesh {

// TransportContext is the part of the world that a transport may use.
struct TransportContext {
  const Arithmetic& arithmetic;
  PhysicalMemory* memory;
  // copied_bytes counts the bytes that the transport wrote into results.
  std::uint64_t& copied_bytes;
};

// Transport is the seam through which bytes reach other ranks. It is called once a collective, when
// the last member has arrived, and fills in every member's results. The bytes of a result may be
// shared: they are immutable.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void exchange(Exchange& exchange, const TransportContext& context) const = 0;
};

// ShapeTransport moves no bytes: in a world of shapes only it gives every member results of the
// right shapes. In a folded world it raises a RuntimeError where the shapes depend on calls of
// ranks that aren't run: pieces that may be uneven (known to be even only where the first and the
// last member run and have equal ones), splits unless all are equal, and the operands of a root
// that isn't run.
class ShapeTransport final : public Transport {
 public:
  void exchange(Exchange& exchange, const TransportContext& context) const override;
};

// SharedMemoryTransport computes results in the one address space. all-reduce, all-gather and
// broadcast give one buffer to all members. List forms pass on the operands' own bytes. The rest
// cuts one buffer into parts.
class SharedMemoryTransport final : public Transport {
 public:
  void exchange(Exchange& exchange, const TransportContext& context) const override;
};

// SpreadTransport serves a run that is spread over processes: members whose ranks this process owns
// have elements, the others are ghosts. Processes that own members exchange the bytes that their
// members need, and each makes the results of its own members by the SharedMemoryTransport; ghosts
// get shapes. A reduction is cut into one range of elements for each process, so that no process
// holds all operands, except of small ones and in the orders of vendors, where the place of an
// element counts. docs/processes.md has the bytes and messages of each collective.
class SpreadTransport final : public Transport {
 public:
  void exchange(Exchange& exchange, const TransportContext& context) const override;
};

// share_message gives the receiver's process the bytes of a message whose sender another process
// owns, in a run that is spread over processes; elsewhere it does nothing.
void share_message(ResultPart& payload, RankId sender, RankId receiver);

}  // namespace simmesh
