# Figure of this experiment. kvsim plot sets `data` (rows.dat) and `figure` (path without ending).
set datafile missing "NaN"
set title "Time of a token on one H200\n{/*0.8 qwen3.8-27b, q8\\_0 cache in host memory, gen5 x16; predicted}"
set xlabel "context (rows in the cache)"
set ylabel "ms per token"
set xrange [3800:140000]
set yrange [3:120]
set logscale xy 2
set xtics ("4,096" 4096, "8,192" 8192, "16,384" 16384, "32,768" 32768, "65,536" 65536, "131,072" 131072)
set ytics (4, 8, 16, 32, 64)
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
         data index "continuous" using 1:(1e3/$4) with lines lc rgb "#888888" dt 2 title "bound, the tail on the devices"
    unset output
}
