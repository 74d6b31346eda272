# Sourced by ./windtunnel and ./test, which set root: `make_ready programs` (or `all`) brings this
# clone from bare to built and returns at once when nothing changed since the last time.
#
# Four steps: Debian packages, LibTorch, configuration, build. A step that is done is skipped, and
# a step counts as done only when it is complete, so an interrupted set-up continues.
#
#   WINDTUNNEL_LIBTORCH=<folder>   use the LibTorch there instead of installing one
#   WINDTUNNEL_CUDA=ON|OFF         build for NVIDIA GPUs or not, instead of looking for one

torch_version=2.11.0
state=$root/.windtunnel
build=$root/build
log=$state/setup.log

packages=(cmake ninja-build g++ ccache mold git
  libboost-dev libceres-dev libcli11-dev libcmark-gfm-dev libcmark-gfm-extensions-dev
  libcpp-httplib-dev libcurl4-openssl-dev libfmt-dev libgmock-dev libgtest-dev libnlopt-dev
  libpcre2-dev libspdlog-dev libsqlite3-dev libssl-dev libvalijson-dev libyaml-cpp-dev
  nlohmann-json3-dev zlib1g-dev gnuplot-nox)

make_ready() { # programs | all
  local target=$1 stamp=$build/.ready-$1 settings
  decide_device
  decide_libtorch
  settings="$root $libtorch $device ${packages[*]}"
  if is_ready; then return; fi
  mkdir -p "$state" "$build"
  exec 9>"$state/lock"
  if ! flock -n 9; then
    say "another set-up of this clone is running; waiting for it"
    flock 9
  fi
  if ! is_configured; then
    say "set-up for a $device build: $why"
    install_packages
    install_libtorch
    configure
    say "step 4 of 4: build"
    compile
    say "ready after $SECONDS s"
  elif ! is_ready; then
    compile
  fi
  exec 9>&-
}

is_configured() {
  [ -d "$libtorch" ] && [ "$(cat "$build/.configured" 2>/dev/null)" = "$settings" ]
}

is_ready() {
  [ -d "$libtorch" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$settings" ] && [ -z "$(changes)" ]
}

# Folders count too: their time changes when a file in them appears or goes.
changes() {
  find "$root" -mindepth 1 \( -path "$root/.*" -o -path "$root/build*" -o -path "$root/logs" \
    -o -path "$root/programs" \) -prune -o -newer "$stamp" -print -quit
}

# --- telling -----------------------------------------------------------------------------------

clear_line() {
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

say() {
  clear_line
  printf 'windtunnel: %s\n' "$*" >&2
}

fail() {
  say "$1"
  shift
  if [ $# -gt 0 ]; then printf '%s\n' "$@" >&2; fi
  exit 1
}

fail_with_log() {
  tail -n 15 "$log" >&2
  fail "$1; all of its output is in $log"
}

# One line that changes on a terminal; otherwise a line of its own, at most every ten seconds.
next_line=0
progress() {
  if [ -t 2 ]; then
    local line="windtunnel: $*"
    printf '\r\033[K%s' "${line:0:${COLUMNS:-80}-1}" >&2
  elif [ "$SECONDS" -ge "$next_line" ]; then
    say "$*"
    next_line=$((SECONDS + 10))
  fi
}

# --- decisions, made anew on each use because they are cheap ---------------------------------------

decide_device() {
  nvcc=$(command -v nvcc || compgen -G /usr/local/cuda/bin/nvcc || true)
  case ${WINDTUNNEL_CUDA:-} in
    ON) device=cuda why="WINDTUNNEL_CUDA=ON" ;;
    OFF) device=cpu why="WINDTUNNEL_CUDA=OFF" ;;
    "")
      if ! compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
        device=cpu why="no NVIDIA GPU here"
      elif [ -z "$nvcc" ]; then
        device=cpu why="an NVIDIA GPU is here, but nvcc is not: install the CUDA toolkit 13 to use it"
      else
        device=cuda why="an NVIDIA GPU and $nvcc are here"
      fi
      ;;
    *) fail "WINDTUNNEL_CUDA='$WINDTUNNEL_CUDA' must be ON or OFF, or unset to look for a GPU" ;;
  esac
}

decide_libtorch() {
  if [ -z "${WINDTUNNEL_LIBTORCH:-}" ]; then
    libtorch=$state/libtorch-$torch_version-$device
    return
  fi
  libtorch=$(readlink -m -- "$WINDTUNNEL_LIBTORCH")
  local lib=$libtorch/lib
  if [ -d "$libtorch/torch/lib" ]; then lib=$libtorch/torch/lib; fi
  [ -e "$lib/libtorch_cpu.so" ] || fail "WINDTUNNEL_LIBTORCH=$WINDTUNNEL_LIBTORCH has no LibTorch:\
 lib/libtorch_cpu.so is not there; give the folder of one, or unset it and one is installed"
  if [ "$device" = cuda ] && [ ! -e "$lib/libtorch_cuda.so" ]; then
    [ -z "${WINDTUNNEL_CUDA:-}" ] ||
      fail "WINDTUNNEL_CUDA=ON, but $lib has no libtorch_cuda.so: use a LibTorch built with CUDA"
    device=cpu why="an NVIDIA GPU is here, but the LibTorch in WINDTUNNEL_LIBTORCH has no CUDA"
  fi
}

# --- step 1: Debian packages ---------------------------------------------------------------------

install_packages() {
  local missing=() package
  if ! command -v apt-get >/dev/null; then
    say "step 1 of 4: no apt-get here, so the libraries that $root/cmake/setup.sh names must be there"
    return
  fi
  if [ ! -d "$libtorch" ]; then
    packages+=(unzip)
    find_pip || packages+=(python3-pip)
  fi
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) = installed ]] ||
      missing+=("$package")
  done
  say "step 1 of 4: Debian packages, ${#missing[@]} to install"
  if [ ${#missing[@]} = 0 ]; then return; fi
  local install="apt-get install --yes --no-install-recommends ${missing[*]}"
  may_install || fail "installing Debian packages needs root; as root run this, then start again:" \
    "apt-get update && $install"
  finish_interrupted_installation
  apt_get update || say "apt-get update failed; going on with the package lists that are here"
  apt_get install --yes --no-install-recommends "${missing[@]}" ||
    fail_with_log "apt-get could not install the packages"
}

may_install() {
  [ "$(id -u)" = 0 ] && return
  command -v sudo >/dev/null || return
  sudo -n true 2>/dev/null && return
  # Only a person can type the password, and before progress lines run over the question.
  [ -t 0 ] && [ -t 2 ] && say "sudo is needed to install Debian packages" && sudo -v
}

# The lock of the set-up must not be inherited by a service that a package starts.
as_root() {
  local as=()
  [ "$(id -u)" = 0 ] || as=(sudo)
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@" </dev/null 9>&-
}

# apt-get refuses to work on what it left half-way when it was killed; dpkg outlives it for a while.
finish_interrupted_installation() {
  local output
  until output=$(as_root dpkg --configure -a 2>&1); do
    printf '%s\n' "$output" >>"$log"
    [[ $output == *locked* ]] || fail_with_log "dpkg --configure -a failed"
    progress "step 1 of 4: waiting for another installation of packages to end"
    sleep 2
  done
}

apt_get() {
  as_root apt-get -o DPkg::Lock::Timeout=600 \
    -o APT::Status-Fd=1 "$@" 2>&1 | tee -a "$log" |
    while IFS=: read -r kind _ percent text; do
      case $kind in
        dlstatus) progress "step 1 of 4: downloading ${percent%.*} %: $text" ;;
        pmstatus) progress "step 1 of 4: installing ${percent%.*} %: $text" ;;
      esac
    done
}

# --- step 2: LibTorch, the C++ part of the torch wheel -------------------------------------------

install_libtorch() {
  if [ -d "$libtorch" ]; then
    say "step 2 of 4: LibTorch is in $libtorch"
    return
  fi
  find_pip || fail "no python3 with pip here: install python3-pip, or set WINDTUNNEL_LIBTORCH"
  local partial=$libtorch.partial megabytes=2720 wheels=("torch==$torch_version") leave_out=()
  if [ "$device" = cpu ]; then
    # Its libtorch_cpu.so needs these two CUDA libraries and none of the others.
    megabytes=531 wheels+=(--no-deps 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-cupti==13.0.*')
    leave_out=('*_cuda*.so' '*_nvshmem.so')
  fi
  say "step 2 of 4: LibTorch $torch_version, a download of about $megabytes MB"
  rm -rf "$partial"
  mkdir -p "$partial/tmp"
  download_wheels "${wheels[@]}" || fail_with_log "pip could not fetch LibTorch"
  say "step 2 of 4: unpacking LibTorch"
  {
    unzip -q "$partial/wheels/torch-*.whl" 'torch/lib/*.so*' 'torch/include/*' \
      -x '*_python.so' "${leave_out[@]}" -d "$partial"
    unzip -q "$partial/wheels/nvidia_*.whl" 'nvidia/*/lib/*' -d "$partial"
  } >>"$log" 2>&1 </dev/null
  rm -rf "$partial/tmp" "$partial/wheels"
  mv "$partial" "$libtorch"
}

find_pip() {
  for python in python3 /usr/bin/python3; do
    "$python" -m pip --version >/dev/null 2>&1 && return
  done
  return 1
}

# Only the C++ libraries of the wheels are used, so those for one fixed Python version do, whichever
# Python runs pip; they need glibc 2.28. The pipe carries nothing: its end tells that pip has ended.
download_wheels() {
  local platforms=(--platform "manylinux2014_$(uname -m)") minor
  for minor in {17..28}; do platforms+=(--platform "manylinux_2_${minor}_$(uname -m)"); done
  TMPDIR=$partial/tmp "$python" -m pip download --dest "$partial/wheels" --no-cache-dir \
    --only-binary=:all: --implementation cp --python-version 3.11 "${platforms[@]}" "$@" \
    3>&1 >>"$log" 2>&1 </dev/null |
    while read -r -t 1 || [ $? -gt 128 ]; do
      progress "step 2 of 4: $(du -s -BMB "$partial/tmp" | cut -f 1) of ${megabytes}MB"
    done
}

# --- steps 3 and 4 ---------------------------------------------------------------------------------

configure() {
  say "step 3 of 4: configuration"
  CUDACXX=$nvcc cmake --fresh -S "$root" -B "$build" -G Ninja -DWINDTUNNEL_LIBTORCH="$libtorch" \
    -DWINDTUNNEL_CUDA="$([ "$device" = cuda ] && echo ON || echo OFF)" \
    >>"$log" 2>&1 </dev/null || fail_with_log "cmake could not configure the build"
  printf '%s' "$settings" >"$build/.configured"
}

# A file that sees LibTorch takes a gigabyte to compile.
compile() {
  local jobs memory
  jobs=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 1.2e6) }' /proc/meminfo)
  if [ "$memory" -lt "$jobs" ]; then jobs=$((memory > 0 ? memory : 1)); fi
  # Made before the build, so that what is edited during it counts as changed.
  printf '%s' "$settings" >"$stamp.next"
  NINJA_STATUS='[%f of %t] ' ninja -C "$build" -j "$jobs" "$target" 2>&1 </dev/null | tee -a "$log" |
    while IFS= read -r line; do
      case $line in
        \[*' of '*) progress "building ${line:0:300}" ;;
        'ninja: '[En]*) ;; # "Entering directory", "no work to do"
        *) clear_line && printf '%s\n' "$line" >&2 ;;
      esac
    done || fail "the build failed"
  clear_line
  mv "$stamp.next" "$stamp"
}
