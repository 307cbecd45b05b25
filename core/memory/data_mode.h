#pragma once

namespace simmesh {

// DataMode says whether tensors of the rank on this thread have elements. In a World of shapes only
// they have none: storages are charged as usual, and no kernel runs. The engine sets the mode while
// a World runs on the thread; outside any World there is data.
class DataMode {
 public:
  // shapes_only is true where storages made now have no bytes.
  static bool shapes_only() { return shapes_only_; }
  static void set_shapes_only(bool value) { shapes_only_ = value; }

 private:
  static constinit inline thread_local bool shapes_only_ = false;
};

// DataModeScope sets the mode of the thread, and restores it at its end. It serves data of a World
// of shapes only that is made outside of it.
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
