# What tools/sanitize and tools/coverage share: an instrumented build of dforest in build/NAME, in an environment of its own that takes
# all other packages from the active one. They source this file. What it was built from stays there, so that the next run builds what
# has changed only; if its environment was made by another Python, both are made anew.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
usage() { sed -n '/^#!/d; /^\./q; s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# Which Python an environment is made of.
base() { "$1" -c 'import sys; print(sys.base_prefix, sys.version)' 2>/dev/null; }

# A compiler whose last options are those of the instrumentation, so that -O3 and its like do not count.
wrapped() { printf '#!/bin/sh\nexec %s "$@" -O1 -g1 %s\n' "$1" "$2" >"$3"; chmod +x "$3"; }

# instrumented NAME FLAGS [OPTION OF MESON...]
instrumented() {
  work=$top/build/$1
  mkdir -p "$work"
  wrapped "${CC:-gcc}" "$2" "$work/cc"
  wrapped "${CXX:-g++}" "$2" "$work/cxx"
  if [ "$(base "$work/env/bin/python")" != "$(base python)" ]; then
    rm -rf "$work/env" "$work/build"
    python -m venv --without-pip "$work/env"
  fi
  local packages option options=()
  packages=$("$work/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # Listed, the active environment's packages are found, but an editable dforest among them is not.
  python -c 'import sys; print(*(path for path in sys.path if path.endswith("site-packages")), sep="\n")' >"$packages/others.pth"
  for option in -Dsycl=disabled "${@:3}"; do options+=("--config-settings=setup-args=$option"); done
  CC="$work/cc" CXX="$work/cxx" python -m pip --python "$work/env/bin/python" install --quiet --no-build-isolation --no-deps \
    --ignore-installed --config-settings=build-dir="$work/build" "${options[@]}" "$top"
  cd "$top"
  export PYTHONSAFEPATH=1  # the sources here are on no path, not even on that of processes that tests start
}
