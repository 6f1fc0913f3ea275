# docs/definitions.md defines every column of csv under its name, and no name that is none.
# Rows of replay have those of predict and some more.
"$KVSIM" replay --executor serial --machine rtx4070 -m ladder -d 256 -n 1 -r 1 --policy ordered -o csv | head -n 1 | tr , "\n" | sort >"$KVS_TMP/columns"
sed -n "s/^| \(\`[^|]*\) | .*/\1/p" docs/definitions.md | tr -d "\` " | tr , "\n" | sort -u >"$KVS_TMP/names"
[ "$(wc -l <"$KVS_TMP/columns")" -gt 50 ] || echo "columns were not found"
diff "$KVS_TMP/columns" "$KVS_TMP/names" | sed -n "s/^</not defined:/p; s/^>/no column:/p"
echo "compared"
