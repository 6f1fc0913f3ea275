# The runner in a copy that holds what a clone holds, with a build that is up to date: it says
# nothing of its own. The tools of a build are stand-ins; the real binary is copied.
. tests/structure/files.sh
copy=$KVS_TMP/clone
mkdir -p "$copy/build/release" "$KVS_TMP/bin"
kvs_tracked | tar -cf - -T - | tar -xf - -C "$copy" || exit
cp "$KVSIM" "$copy/build/release/kvsim"
touch "$copy/build/release/.stamp"
printf '#!/bin/sh\n[ "$1" != --build ] || { mkdir -p "$2" && cp "%s" "$2/kvsim"; }\n' "$KVSIM" >"$KVS_TMP/bin/cmake"
printf '#!/bin/sh\n' | tee "$KVS_TMP/bin/cc" >"$KVS_TMP/bin/ninja"
chmod +x "$KVS_TMP"/bin/*
PATH=$KVS_TMP/bin:$PATH
cd "$copy" || exit

# run WHAT: what the runner adds to the program's own output.
run() {
    ./kvsim --version >"$KVS_TMP/out" 2>&1
    echo "$1: exit $?, $(grep -v '^kvsim [0-9]' "$KVS_TMP/out" | sed "s|$copy|CLONE|" | grep . || echo silent)"
}

run "up to date"
mkdir real/new
run "a new source folder"
run "again"
touch -d '+1 minute' CMakeLists.txt
echo "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere" >build/release/CMakeCache.txt
run "moved and changed"
touch -d '2000-01-01' CMakeLists.txt
run "again"
mv build elsewhere && touch build
run "nowhere to build"
rm build && mv elsewhere build
cd / && "$copy/kvsim" predict -d 4096 --policy ordered | grep -o measured | sort -u
