# Sourced by ./kvsim and ./test, with $root set: brings what a build needs, configures and builds.
# Says nothing unless there is something to do, and then only on stderr.

say() {
    printf '%s\n' "$*" >&2
}

# has_header HEADER: the C compiler finds it, wherever it came from.
has_header() {
    printf '#include <stddef.h>\n#include <stdarg.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <%s>\n' "$1" |
        cc -E -x c - >/dev/null 2>&1
}

# missing_packages build|test|plot...: the Debian packages that these uses lack, on one line.
missing_packages() {
    for use in "$@"; do
        case $use in
        build)
            command -v cmake >/dev/null || printf 'cmake '
            command -v ninja >/dev/null || command -v make >/dev/null || printf 'ninja-build '
            command -v cc >/dev/null || printf 'gcc '
            has_header stdio.h || printf 'libc6-dev '
            has_header yaml.h || printf 'libyaml-dev '
            has_header jansson.h || printf 'libjansson-dev '
            has_header gsl/gsl_errno.h || printf 'libgsl-dev '
            has_header xxhash.h || printf 'libxxhash-dev '
            ;;
        test) has_header cmocka.h || printf 'libcmocka-dev ' ;;
        plot) command -v gnuplot >/dev/null || printf 'gnuplot-nox ' ;;
        esac
    done
}

# apt_install SUDO PACKAGE...: SUDO is empty or "sudo". The package lists are fetched when there are
# none, or when they turn out too old to install from.
apt_install() {
    apt="$1 env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300"
    shift
    log=$root/build/packages.log
    say "installing: $*"
    ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || $apt update >"$log" 2>&1
    $apt install -y --no-install-recommends "$@" >>"$log" 2>&1 && return
    { $apt update && $apt install -y --no-install-recommends "$@"; } >>"$log" 2>&1 && return
    tail -n 20 "$log" >&2
    say "packages could not be installed (all of the output: $log)"
    exit 1
}

# need_packages USE...: installs what is missing as root; as another user asks first, and without a
# terminal prints the command and exits with 2.
need_packages() {
    packages=$(missing_packages "$@")
    [ -z "$packages" ] && return
    # shellcheck disable=SC2086
    set -- $packages
    if ! command -v apt-get >/dev/null; then
        say "missing, by their Debian names: $*"
        say "install them with this system's package manager, then run this again"
        exit 2
    fi
    if [ "$(id -u)" -eq 0 ]; then
        apt_install "" "$@" </dev/null
        return
    fi
    say "missing packages: $*"
    if [ -t 0 ] && [ -t 2 ] && command -v sudo >/dev/null; then
        printf 'run sudo apt-get to install them now? [y/N] ' >&2
        read -r answer
        case $answer in
        [yY]*)
            sudo -v || exit 1 # the password is asked for here, where it can be seen
            apt_install sudo "$@"
            return
            ;;
        esac
    fi
    say "sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
    exit 2
}

# logged COMMAND...: its output goes to $log; a failure shows the tail and exits with 1.
logged() {
    "$@" >>"$log" 2>&1 </dev/null && return
    tail -n 30 "$log" >&2
    say "build failed (all of the output: $log)"
    exit 1
}

# build_preset PRESET: configures when needed and builds build/PRESET.
build_preset() {
    dir=$root/build/$1
    log=$root/build/$1.log
    : >"$log"
    cd "$root" || exit 1
    if [ -f "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$dir/CMakeCache.txt"; then
        rm -rf "$dir" # configured when the repository was elsewhere
    fi
    if [ ! -f "$dir/build.ninja" ] && [ ! -f "$dir/Makefile" ]; then
        rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles" # none, or a configuration that failed
        if command -v ninja >/dev/null; then
            logged cmake --preset "$1" -G Ninja
        else
            logged cmake --preset "$1" -G "Unix Makefiles"
        fi
    fi
    logged cmake --build "$dir" --parallel "$(getconf _NPROCESSORS_ONLN)"
}

# locked COMMAND...: one caller at a time, in a subshell; the others wait for it.
locked() {
    if ! mkdir -p "$root/build" 2>/dev/null || ! touch "$root/build/.lock" 2>/dev/null; then
        say "$root/build cannot be written, and that is where builds go; run it from a copy of your own"
        exit 1
    fi
    (
        if command -v flock >/dev/null; then
            flock -n 9 || { say "waiting for another build of this checkout"; flock 9; }
        fi
        "$@" 9>&-
    ) 9>"$root/build/.lock"
}
