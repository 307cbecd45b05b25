#pragma once

namespace simmesh {

// DataMode says whether what the rank on this thread computes has elements. In a World of shapes
// only it has none: storages are charged as usual, and no kernel runs. The engine sets
// it while a World runs on the thread; outside any World there is data.
class DataMode {
 public:
  // shapes_only says that storages made now have no bytes.
  static bool shapes_only() { return shapes_only_; }
  static void set_shapes_only(bool value) { shapes_only_ = value; }

 private:
  static constinit inline thread_local bool shapes_only_ = false;
};

// DataModeScope sets the mode of the thread, and at its end sets it back. For data of a World of
// shapes only that is made outside of it.
class DataModeScope {
 public:
  explicit DataModeScope(bool shapes_only) : outer_(DataMode::shapes_only()) {
    DataMode::set_shapes_only(shapes_only);
  }
  ~DataModeScope() { DataMode::set_shapes_only(outer_); }
  DataModeScope(const DataModeScope&) = delete;
  DataModeScope& operator=(const DataModeScope&) = delete;

 private:
  bool outer_;
};

}  // namespace simmesh
