# Plans that run on from token to token, over the end of a window: every token is proved, from a file.
for split in none layer tensor; do
    for policy in continuous continuous+n4; do
        "$KVSIM" plan -sm $split -d 16300 -kvpb 0 --policy $policy | "$KVSIM" check -
    done
done
# What it declines runs ordered, and says why.
"$KVSIM" predict --machine h200 -m gemma-3-1b -d 4096 --policy ordered,continuous | grep "ran ordered"
"$KVSIM" predict --machine rtx4070 -d 4096 --kv-cpu-pageable --policy ordered,continuous | grep "ran ordered"
"$KVSIM" predict --machine rtx4070 -d 24576 --policy ordered,continuous | grep "ran ordered"
"$KVSIM" predict --machine rtx4070 -d 4096 --policy continuous+yield
