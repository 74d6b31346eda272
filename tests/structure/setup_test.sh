#!/usr/bin/env bash
# The set-up with stand-ins for every program that installs, downloads or builds: what it does when,
# what it refuses, and that nothing half done counts. Argument: the root of the repository.
# shellcheck disable=SC2016 # the bodies of the stand-ins are expanded when they run
set -euo pipefail
repository=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CALLS=$scratch/calls INSTALLED=$scratch/installed
mkdir -p "$scratch/bin" "$scratch/clone/cmake" "$scratch/clone/base"
cp "$repository/windtunnel" "$scratch/clone/"
cp "$repository/cmake/setup.sh" "$scratch/clone/cmake/"
cd "$scratch/clone"

stand_in() { # name, body
  printf '#!/bin/bash\necho "%s $*" >>"$CALLS"\n%s\n' "$1" "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
stand_in id '[ -e "$INSTALLED.root" ] && echo 0 || echo 1000'
stand_in sudo 'exit 1'
stand_in dpkg ''
stand_in dpkg-query '[ ! -e "$INSTALLED" ] || printf installed'
stand_in apt-get '[[ $* != *" install "* ]] || touch "$INSTALLED"'
stand_in python3 '[[ $* == *download* ]] || exit 0
  while [ "$1" != --dest ]; do shift; done
  mkdir -p "$2"; touch "$2/torch-half.whl"; [ ! -e "$INSTALLED.no-network" ]'
stand_in unzip 'mkdir -p "${*: -1}/torch/lib"'
stand_in cmake 'while [ "$1" != -B ]; do shift; done; mkdir -p "$2/bin"'
stand_in ninja 'echo "[1 of 1] building"; sleep 0.2
  printf "#!/bin/sh\necho started with \$*\n" >"$2/bin/windtunnel"; chmod +x "$2/bin/windtunnel"'
unset WINDTUNNEL_LIBTORCH
export PATH=$scratch/bin:$PATH WINDTUNNEL_CUDA=OFF

fail() { echo "FAILED: $1"; cat "$scratch/output"; exit 1; }
run() { # expected exit code
  local code=0
  : >"$CALLS"
  ./windtunnel census <&- >"$scratch/output" 2>&1 || code=$?
  [ "$code" = "$1" ] || fail "exit code $code instead of $1"
}
says() { grep -qF -- "$1" "$scratch/output" || fail "it does not say: $1"; }
called() { grep -q "^$1" "$CALLS" || fail "$1 was not called"; }
not_called() { ! grep -q "^$1" "$CALLS" || fail "$1 was called"; }

# Without the right to install: the exact command, and nothing done.
run 1
says "needs root"
says "apt-get update && apt-get install --yes --no-install-recommends cmake ninja-build g++"
not_called apt-get
not_called ninja

# Wrong settings are named.
WINDTUNNEL_CUDA=maybe run 1
says "WINDTUNNEL_CUDA='maybe' must be ON or OFF"
WINDTUNNEL_LIBTORCH=/nowhere run 1
says "WINDTUNNEL_LIBTORCH=/nowhere has no LibTorch"
not_called ninja

# A download that fails leaves no LibTorch behind, and the next start downloads again.
touch "$INSTALLED.root" "$INSTALLED.no-network"
run 1
called "apt-get .* install "
says "pip could not fetch LibTorch"
rm "$INSTALLED.no-network"
run 0
not_called "apt-get"
called "python3 .* download"
called cmake
says "step 4 of 4"
says "started with census"

# Nothing changed: nothing runs. A source changed, came or went: only the build runs.
run 0
not_called ninja
for change in 'touch base/new.cpp' 'touch base/new.cpp' 'rm base/new.cpp'; do
  sleep 0.05
  $change
  run 0
  called ninja
  not_called cmake
  run 0
  not_called ninja
done

# A build that was killed is not taken for done.
sleep 0.05
touch base
stand_in ninja 'kill -9 $PPID; exit 1'
run 137
stand_in ninja 'sleep 0.2'
run 0
called ninja

# Two first uses at once: one sets up, the other waits and finds it done.
sleep 0.05
touch base
: >"$CALLS"
./windtunnel first >"$scratch/first" 2>&1 &
./windtunnel second >"$scratch/output" 2>&1
wait
grep -q "started with first" "$scratch/first" || fail "the first use did not start"
says "started with second"
[ "$(grep -c '^ninja' "$CALLS")" = 1 ] || fail "two builds ran"
echo "all as it should be"
