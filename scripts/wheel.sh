# The subcommand wheel of ./dev, which makes the Python package.
# shellcheck shell=bash

# do_wheel compiles with the flags of the release preset, as deep below the root, so that ccache has
# what ./dev build compiled.
do_wheel() {
  [ $# = 0 ] || refuse "wheel: expected no argument, got '$1'"
  local out=$root/build/wheel fresh=$root/build/wheel/environment flag settings=() tests
  need "${build_packages[@]}"
  need_environment python || refuse "wheel: could not install what it needs"
  rm -rf "$out"
  mkdir -p "$out"
  for flag in "CMAKE_CXX_COMPILER=g++-$gcc" CMAKE_COMPILE_WARNING_AS_ERROR=ON \
    CMAKE_UNITY_BUILD=ON CMAKE_UNITY_BUILD_BATCH_SIZE=30; do
    settings+=(--config-setting "cmake.define.$flag")
  done
  (cd "$root" && "$python" -m build --no-isolation --sdist --outdir "$out/dist" &&
    "$python" -m build --no-isolation --wheel --outdir "$out/compiled" "${settings[@]}") \
    > "$out/log.txt" 2>&1 || {
    tail -n 40 "$out/log.txt" >&2
    refuse "wheel: could not be built; $out/log.txt has more"
  }
  # The libraries of the distribution go into the wheel, under names that no other package uses.
  PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair --wheel-dir "$out/dist" \
    "$out"/compiled/*.whl >> "$out/log.txt" 2>&1 ||
    refuse "wheel: could not bundle the libraries; $out/log.txt has more"
  read -r -a tests <<< "$test_requirements"
  python3 -m venv "$fresh" >&2
  "$fresh/bin/pip" install -qq "$out"/dist/*.whl "${tests[@]}" >&2
  say "tests of Python with the wheel"
  python_tests "$out" "" "$fresh/bin/python" >&2
  "$fresh/bin/simmesh" doctor --quiet
  (cd "$out/dist" && du -h --apparent-size -- *)
}
