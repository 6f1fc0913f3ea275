# md on stdout, csv on stderr: the same rows.
"$KVSIM" predict -d 4096 -kvpd 0 -oe csv 2>"$KVS_TMP/csv" | grep -c "^|"
wc -l <"$KVS_TMP/csv"
