# The subcommands of ./dev that make packages: wheel makes those of Python, and package that of Debian.
# shellcheck shell=bash

# do_wheel makes a wheel for each of the named interpreters, the system's by default.
do_wheel() {
  local out=$root/build/wheel peer name
  [ $# != 0 ] || set -- python3
  for peer in "$@"; do
    "$peer" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null ||
      refuse "wheel: expected interpreters of Python 3.10 or later, got '$peer'"
  done
  need "${build_packages[@]}"
  need_environment python || refuse "wheel: could not install what it needs"
  rm -rf "$out"
  mkdir -p "$out"
  logged wheel "$python" -m build --no-isolation --sdist --outdir "$out/dist" "$root"
  for peer in "$@"; do
    name=$("$peer" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    make_wheel "$peer" "$name"
    try_wheel "$peer" "$name"
  done
  (cd "$out/dist" && du -h --apparent-size -- *)
}

# logged SUBCOMMAND WORDS... runs a command whose output is shown only if it fails.
logged() {
  local log=$root/build/$1/log.txt subcommand=$1
  shift
  (cd "$root" && "$@") >> "$log" 2>&1 || {
    tail -n 40 "$log" >&2
    refuse "$subcommand: could not be built; $log has more"
  }
}

# new_environment PYTHON FOLDER PACKAGE... makes an environment of an interpreter. Its pip isn't
# needed: some interpreters come without.
new_environment() {
  local peer=$1 folder=$2
  shift 2
  "$peer" -m venv --without-pip "$folder" >&2
  PIP_CONSTRAINT=/dev/null "$python" -m pip --python "$folder/bin/python" install -qq "$@" >&2
}

# make_wheel compiles with the flags of the release preset, as deep below the root, so that ccache
# has what ./dev build compiled.
make_wheel() {
  local peer=$1 name=$2 out=$root/build/wheel flag settings=() builder=$python
  if [ "$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')" != "$name" ]; then
    # The same versions as in the environment of the tests.
    local words=() word
    for word in ${environments[python]}; do
      case $word in
        nanobind==* | scikit-build-core==* | build==* | numpy==*) words+=("$word") ;;
      esac
    done
    new_environment "$peer" "$out/$name" "${words[@]}" typing_extensions ||
      refuse "wheel: could not install what it needs for $peer"
    builder=$out/$name/bin/python
  fi
  for flag in "CMAKE_CXX_COMPILER=g++-$gcc" CMAKE_COMPILE_WARNING_AS_ERROR=ON \
    CMAKE_UNITY_BUILD=ON CMAKE_UNITY_BUILD_BATCH_SIZE=30; do
    settings+=(--config-setting "cmake.define.$flag")
  done
  say "a wheel for $name"
  logged wheel env CMAKE_BUILD_PARALLEL_LEVEL="$jobs" "$builder" -m build --no-isolation --wheel \
    --outdir "$out/compiled/$name" "${settings[@]}" "$root"
  # The libraries of the distribution go into the wheel, under names that no other package uses.
  logged wheel env PATH="$(dirname "$python"):$PATH" "$python" -m auditwheel repair \
    --wheel-dir "$out/dist" "$out/compiled/$name"/*.whl
}

# try_wheel installs a wheel into a new environment, as a user does, and runs the tests there.
try_wheel() {
  local peer=$1 name=$2 out=$root/build/wheel tests
  local fresh=$out/fresh-$name
  read -r -a tests <<< "$test_requirements"
  new_environment "$peer" "$fresh" "$out/dist"/*"-$name-"*.whl "${tests[@]}"
  say "tests of Python with the wheel for $name"
  python_tests "$out" "" "$fresh/bin/python" >&2
  "$fresh/bin/simmesh" doctor --quiet
  "$fresh/bin/simmesh" demo > /dev/null || refuse "wheel: the demo of $name fails"
}

# do_package makes the Debian package of the install tree.
do_package() {
  [ $# = 0 ] || refuse "package: expected no argument, got '$1'"
  need dpkg-dev
  build release simmesh_command simmesh_testing simmesh_headers
  rm -rf "$root/build/package"
  mkdir -p "$root/build/package"
  logged package cpack --config "$root/build/release/CPackConfig.cmake"
  (cd "$root/build/package" && du -h --apparent-size -- *.deb)
}
