# Figure of this experiment. kvsim plot sets `data` (rows.dat) and `figure` (path without ending).
set datafile missing "NaN"
set title "Decode rate over the context, two equal cards on equal links\n{/*0.8 qwen3.8-27b, q8\\_0 cache in host memory, two RTX 4070 on gen4 x8 each, tensor split 50/50; not measured by anyone}"
set xlabel "context (rows in the cache)"
set ylabel "tokens per second"
set xrange [1900:145000]
set yrange [0:*]
set logscale x 2
set xtics ("2,048" 2048, "4,096" 4096, "8,192" 8192, "16,384" 16384, "32,768" 32768, "65,536" 65536, "131,072" 131072)
set grid ytics lc rgb "#dddddd" lt 1
set rmargin 4
set border 3
set tics nomirror
set key top right reverse Left samplen 2.5 spacing 1.2

do for [ending in "png svg"] {
    if (ending eq "png") {
        set terminal pngcairo size 1200,700 font "sans,15" linewidth 1.5
    } else {
        set terminal svg size 1200,700 font "sans,15" linewidth 1.5 background rgb "white"
    }
    set output figure.".".ending
    plot data index "pipelined" using 1:4 with lines lc rgb "#888888" dt 2 title "bound: no schedule is faster", \
         data index "pipelined+late-kernel" using 1:2 with linespoints lc rgb "#7a4fa3" pt 7 ps 0.6 title "pipelined, late bytes by a kernel", \
         data index "pipelined+yield-kv" using 1:2 with linespoints lc rgb "#c2a000" pt 7 ps 0.6 title "pipelined, yield between K and V", \
         data index "pipelined+per-slot" using 1:2 with linespoints lc rgb "#2e8b57" pt 7 ps 0.6 title "pipelined, a stream per slot", \
         data index "pipelined" using 1:2 with linespoints lc rgb "#1f6fb4" pt 7 ps 0.6 title "pipelined", \
         data index "ordered" using 1:2 with linespoints lc rgb "#d1661f" pt 7 ps 0.6 title "ordered"
    unset output
}
