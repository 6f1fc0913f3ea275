# Figure of this experiment. kvsim plot sets `data` (rows.dat) and `figure` (path without ending).
set datafile missing "NaN"
set title "Time of a token on the published pair of cards, played on one H200\n{/*0.8 qwen3.8-27b, q8\\_0, RTX 4070 (gen4 x16) + RTX 3060 (gen3 x4), tensor split 50/50; lines: predicted, circles: emulated}"
set xlabel "context (rows in the cache)"
set ylabel "ms per token"
set xrange [3000:34000]
set yrange [0:260]
set xtics ("4,096" 4096, "8,192" 8192, "16,384" 16384, "24,576" 24576, "32,768" 32768)
set grid ytics lc rgb "#dddddd" lt 1
set rmargin 4
set border 3
set tics nomirror
set key top left reverse Left samplen 2.5 spacing 1.2

do for [ending in "png svg"] {
    if (ending eq "png") {
        set terminal pngcairo size 1200,700 font "sans,15" linewidth 1.5
    } else {
        set terminal svg size 1200,700 font "sans,15" linewidth 1.5 background rgb "white"
    }
    set output figure.".".ending
    plot data index "ordered" using 1:3 with lines lc rgb "#d1661f" title "ordered", \
         data index "pipelined" using 1:3 with lines lc rgb "#1f6fb4" title "pipelined", \
         data index "pipelined+per-slot" using 1:3 with lines lc rgb "#2e8b57" title "pipelined, a stream per slot", \
         data index "pipelined+yield-kv" using 1:3 with lines lc rgb "#c0a020" title "pipelined, a yield after K and V", \
         data index "pipelined+late-kernel" using 1:3 with lines lc rgb "#8e5ea2" title "pipelined, late rows by a kernel", \
         data index "continuous" using 1:3 with lines lc rgb "black" title "continuous", \
         data index "continuous" using 1:(1e3/$4) with lines lc rgb "#888888" dt 2 title "bound, the tail on the devices", \
         data index "ordered" using 1:(1e3/$9) with points lc rgb "#d1661f" pt 6 ps 1.6 notitle, \
         data index "pipelined" using 1:(1e3/$9) with points lc rgb "#1f6fb4" pt 6 ps 1.6 notitle, \
         data index "pipelined+per-slot" using 1:(1e3/$9) with points lc rgb "#2e8b57" pt 6 ps 1.6 notitle, \
         data index "pipelined+yield-kv" using 1:(1e3/$9) with points lc rgb "#c0a020" pt 6 ps 1.6 notitle, \
         data index "pipelined+late-kernel" using 1:(1e3/$9) with points lc rgb "#8e5ea2" pt 6 ps 1.6 notitle, \
         data index "continuous" using 1:(1e3/$9) with points lc rgb "black" pt 6 ps 1.6 notitle
    unset output
}
