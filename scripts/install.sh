# Functions of ./dev that install what is missing: packages of Debian, and environments of Python.
# shellcheck shell=bash

say() { echo "dev: $*" >&2; }

refuse() {
  say "$*"
  exit 2
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo > /dev/null; then
    sudo "$@"
  else
    echo "expected root or sudo, to run: $*"
    return 1
  fi
}

# apt ARGS... runs apt-get without questions.
apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" 2>&1
}

# missing PACKAGE... prints the packages that aren't installed.
missing() {
  local installed package
  installed=" $(dpkg-query -W -f '${db:Status-Status}/${Package} ' "$@" 2> /dev/null || true)"
  for package in "$@"; do
    [[ $installed == *" installed/$package "* ]] || echo "$package"
  done
}

# need PACKAGE... installs the packages of Debian that are missing.
need() {
  local packages output
  if ! command -v dpkg-query > /dev/null; then
    say "not a Debian system, so nothing is installed; needed: $*"
    return
  fi
  mapfile -t packages < <(missing "$@")
  [ ${#packages[@]} != 0 ] || return 0
  say "installing ${packages[*]}"
  # Package lists are fetched only if they are missing or out of date. Only then does this fail, and
  # its messages would be a false alarm.
  if apt install "${packages[@]}" > /dev/null; then return; fi
  output=$(apt update) || say "some package lists could not be fetched: $output"
  output=$(apt install "${packages[@]}") || refuse "could not install packages: $output"
}

# need_deepspeed VERSION installs the sources of a release into build/deepspeed-VERSION, unless that
# was done. They run in an environment that has another release and what both need.
need_deepspeed() {
  local folder=$root/build/deepspeed-$1 python=$root/build/${torch_environments[0]}/bin/python
  [ ! -d "$folder" ] || return 0
  say "installing DeepSpeed $1 into build/deepspeed-$1"
  DS_BUILD_OPS=0 DS_ACCELERATOR=cpu PIP_CONSTRAINT=/dev/null "$python" -m pip install -qq \
    --no-deps --no-build-isolation --target "$folder.new" "deepspeed==$1" >&2 || return 1
  mv "$folder.new" "$folder"
}

# need_pytorch_tests installs what PyTorch's own tests import into build/pytorch-tests, beside the
# environment that runs them, unless that was done.
need_pytorch_tests() {
  local folder=$root/build/pytorch-tests python=$root/build/${torch_environments[0]}/bin/python words
  [ "$(cat "$folder/requirements.txt" 2> /dev/null)" != "$pytorch_test_requirements" ] || return 0
  read -r -a words <<< "$pytorch_test_requirements"
  say "installing ${words[*]} into build/pytorch-tests"
  rm -rf "$folder"
  PIP_CONSTRAINT=/dev/null "$python" -m pip install -qq --target "$folder" "${words[@]}" >&2 ||
    return 1
  echo "$pytorch_test_requirements" > "$folder/requirements.txt"
}

# need_environment NAME installs what versions.sh names for an environment of Python into
# build/NAME, unless that was done. Versions that the machine prefers don't count here. One with a
# base finds what that has, as if it were installed here.
need_environment() {
  local folder=$root/build/$1 requirements=${environments[$1]} step steps words sites
  local base=${bases[$1]:-}
  [ -z "$base" ] || need_environment "$base" || return 1
  [ "$(cat "$folder/requirements.txt" 2> /dev/null)" != "$requirements" ] || return 0
  need "${python_packages[@]}"
  IFS='|' read -r -d '' -a steps <<< "$requirements" || true
  rm -rf "$folder"
  python3 -m venv "$folder" >&2 || return 1
  if [ -n "$base" ]; then
    sites=("$root/build/$base"/lib/python*/site-packages)
    echo "${sites[0]}" > "$folder/lib/$(basename "$(dirname "${sites[0]}")")/site-packages/base.pth"
  fi
  for step in "${steps[@]}"; do
    read -r -d '' -a words <<< "$step" || true
    say "installing ${words[*]} into build/$1"
    # Warnings of pip are about the configuration of the machine. Errors are shown.
    PIP_CONSTRAINT=/dev/null "$folder/bin/pip" install -qq "${words[@]}" >&2 || return 1
  done
  echo "$requirements" > "$folder/requirements.txt"
}
