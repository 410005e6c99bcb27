#!/bin/sh
# Installs the latest release of prewarm, or updates to it, without root:
#   curl -fsSL https://github.com/OWNER/prewarm/releases/latest/download/install.sh | sh
# Removes prewarm, but no cache: sh install.sh --uninstall
# PREWARM_VERSION   the version, such as 0.1.0 (default: the latest)
# PREWARM_HOME      the folder (default: ~/.local): a release goes to lib/prewarm/VERSION, links go to bin and share
# PREWARM_DOWNLOAD  a mirror of the releases: their files are in download/vVERSION, those of the latest in latest/download, too
fail() {
  echo "install.sh: $1" >&2
  exit 1
}

find_machine() {
  machine=$(uname -m) otherwise="use the release's container image: $base"
  case "$(uname -s) $machine" in
  'Linux x86_64' | 'Linux aarch64') ;;
  Linux*) fail "releases are for x86_64 and aarch64, but this machine is $machine; build prewarm from source" ;;
  *) fail "prewarm runs on Linux, but this system is $(uname -s); $otherwise" ;;
  esac
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true) # such as glibc 2.36
  case $libc in
  glibc\ 2.3[6-9] | glibc\ 2.[4-9][0-9]) return ;;
  glibc*) ;;
  *) libc="another C library, such as musl" ;;
  esac
  fail "prewarm needs glibc 2.36 or later, but this system has $libc; $otherwise"
}

# download PATH: to the folder $work
download() {
  if command -v curl >/dev/null; then get='curl -fsSL --retry 2 -o'; else get='wget -q -O'; fi
  $get "$work/${1##*/}" "$base/$1" || fail "cannot download $base/$1 by ${get%% *}"
}

# Sets version, tar and the expected checksum.
find_release() {
  folder=latest/download pattern="prewarm-[0-9]*-$machine-linux.tar.gz" tar=''
  version=${PREWARM_VERSION:-} && version=${version#v}
  [ -z "$version" ] || folder=download/v$version pattern=prewarm-$version-$machine-linux.tar.gz
  download "$folder/SHA256SUMS"
  while read -r sum name; do
    # shellcheck disable=SC2254 # it is a pattern
    case $name in $pattern) expected=$sum tar=$name ;; esac
  done <"$work/SHA256SUMS"
  [ "$tar" ] || fail "$base/$folder has no $pattern; check PREWARM_VERSION and PREWARM_DOWNLOAD"
  version=${tar#prewarm-} && version=${version%"-$machine-linux.tar.gz"}
  case $version in *[!0-9A-Za-z.+~-]*) fail "$version in $base/$folder/SHA256SUMS isn't a version" ;; esac
}

unpack_release() {
  download "download/v$version/$tar"
  sum=$(cd "$work" && { sha256sum "$tar" || shasum -a 256 "$tar" || openssl dgst -sha256 -r "$tar"; } 2>/dev/null) ||
    fail "cannot compute the checksum of $tar; install sha256sum or openssl"
  [ "${sum%% *}" = "$expected" ] || fail "the download of $tar is damaged: its checksum isn't that of SHA256SUMS; try again"
  tar -xzof "$work/$tar" -C "$work"
  new=$work/prewarm-$version
  output=$("$new/bin/prewarm" --version 2>&1) || fail "prewarm $version doesn't start here: $output; $otherwise"
  echo "$expected" >"$new/.sha256"
  [ ! -e "$trees/$version" ] || mv "$trees/$version" "$work/replaced"
  mv "$new" "$trees/$version"
}

make_links() {
  cd "$trees/current"
  for file in bin/prewarm share/man/man*/* share/bash-completion/completions/* share/zsh/site-functions/* share/fish/*/*; do
    [ -e "$file" ] || continue # a pattern without files
    case $file in bin/*) up=.. ;; *) up=../../.. ;; esac
    mkdir -p "$home/${file%/*}"
    ln -s "$up/lib/prewarm/current/$file" "$work/link" && mv -f "$work/link" "$home/$file"
  done
}

remove_dangling_links() {
  for link in "$home"/bin/prewarm "$home"/share/*/*/*prewarm*; do
    case $(readlink "$link") in ../*lib/prewarm/current/*) [ -e "$link" ] || rm "$link" ;; esac
  done
}

main() {
  set -eu
  base=${PREWARM_DOWNLOAD:-https://github.com/OWNER/prewarm/releases} home=${PREWARM_HOME:-$HOME/.local}
  case $home in /*) ;; *) home=$PWD/$home ;; esac
  trees=$home/lib/prewarm
  if [ "$*" = --uninstall ]; then
    rm -rf "$trees"
    remove_dangling_links
    echo "Removed prewarm from $home; caches are kept, such as ${XDG_CACHE_HOME:-$HOME/.cache}/prewarm" && return
  fi
  [ $# -eq 0 ] || { echo "usage: install.sh [--uninstall]" >&2 && exit 3; }
  find_machine
  [ ! -e "$home/bin/prewarm" ] || [ -e "$trees/current" ] ||
    fail "$home/bin/prewarm is of another installation; remove it, or set PREWARM_HOME"
  { mkdir -p "$trees" && work=$(mktemp -d "$trees/.new-XXXXXX"); } || fail "cannot write to $trees; set PREWARM_HOME to a folder of yours"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' HUP INT TERM
  find_release
  [ "$(cat "$trees/$version/.sha256" 2>/dev/null)" = "$expected" ] || unpack_release
  previous=$(readlink "$trees/current" || true)
  ln -s "$version" "$work/current" && mv -fT "$work/current" "$trees/current" # a rename: it always leads to a whole tree
  make_links
  remove_dangling_links
  # The previous version stays, since its runs may still load libraries from it; what a killed installation left goes a day later.
  find "$trees" -maxdepth 1 \( -name '[0-9]*' ! -name "$version" ! -name "$previous" -o -name '.new-*' -mtime +0 \) -exec rm -rf {} +
  echo "Installed prewarm $version in $trees/$version, linked from $home/bin/prewarm"
  case :$PATH: in *:"$home/bin":*) return ;; esac
  echo "$home/bin isn't in PATH; add to your shell's profile: export PATH=\"$home/bin:\$PATH\""
}

# At the end, so that sh runs nothing of a script that arrives only in part.
main "$@"
