# What .ci/run and tools/nightly share: commands of README, CONTRIBUTING and the page about devices, each followed in a fresh clone.
# They source this file.
set -euo pipefail
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec </dev/null
export PIP_COMPILE=0       # bytecode of what is imported, no more: Python makes it then
warnings_as_errors=--config-settings=setup-args=-Dwerror=true  # of compilers and of Cython, for pip

step() { printf '\n=== %s (after %d s)\n' "$1" "$SECONDS"; }
fail() { printf 'failed: %s\n' "$1" >&2; exit 1; }

# The command of a name: what is in the code block, or between backquotes, after <!-- command: NAME -->.
command_of() {
  local found
  found=$(cat "$top"/{README,CONTRIBUTING,doc/devices}.md | sed -n "/^<!-- command: $1 -->\$/,/^\`\`\`\$/p" | sed '/^<!--/d; /^```/d')
  [ -n "$found" ] || found=$(sed -n "s/.*<!-- command: $1 --> \`\([^\`]*\)\`.*/\1/p" "$top/CONTRIBUTING.md")
  [ -n "$found" ] || fail "no page has the command: $1"
  printf '%s' "$found"
}

# Follow a command in the present folder, by a shell of its own; `develop` does so in its active environment.
follow() { bash -euo pipefail -c "$(command_of "$1") ${2:-}"; }
develop() { (. .venv/bin/activate && follow "$@"); }

# A commit of what is here, ignored files left out, in a repository of its own.
snapshot() { git --git-dir="$work/snapshot" --work-tree="$top" -c user.name=ci -c user.email=ci@localhost "$@"; }
snapshot init --quiet
snapshot add --all
snapshot commit --quiet --no-gpg-sign --message snapshot
fresh_clone() { git clone --quiet "$work/snapshot" "$1"; cd "$1"; }

# What `python -m dforest devices` says of SYCL.
told() {
  local text
  text=$(cd "$work" && "$1" -m dforest devices)
  grep -q "$2" <<<"$text" || fail "devices, where '$2' is expected: $text"
}

# Two ways at a time, as most steps use one core; what the first one prints comes last.
two_ways() {
  local first second status=0
  "$1" >"$work/$1.txt" 2>&1 &
  first=$!
  "$2" &
  second=$!
  wait "$second" || status=$?
  wait "$first" || status=$?
  cat "$work/$1.txt"
  [ "$status" = 0 ] || fail "see above"
  step "all passed"
}
