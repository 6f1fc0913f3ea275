# Figure of this experiment. kvsim plot sets `data` (rows.dat) and `figure` (path without ending).
set datafile missing "NaN"
set title "Decode rate with one of two cards on an x4 link\n{/*0.8 qwen3.8-27b, q8\\_0 cache in host memory, RTX 4070 (gen4 x16) + RTX 3060 (gen3 x4), tensor split 50/50}"
set xlabel "context (rows in the cache)"
set ylabel "tokens per second"
set xrange [-0.6:2.6]
set yrange [0:33]
set grid ytics lc rgb "#dddddd" lt 1
set border 3
set tics nomirror
set xtics scale 0
set key top right reverse Left samplen 2 spacing 1.2
set style fill solid 1.0
set boxwidth 0.32

left(x) = x - 0.17
right(x) = x + 0.17
rows(n) = n >= 1000 ? sprintf("%d,%03d", int(n / 1000), int(n) % 1000) : sprintf("%d", n)

do for [ending in "png svg"] {
    if (ending eq "png") {
        set terminal pngcairo size 1200,700 font "sans,15" linewidth 1.5
    } else {
        set terminal svg size 1200,700 font "sans,15" linewidth 1.5 background rgb "white"
    }
    set output figure.".".ending
    plot data index "ordered" using (left($0)):2 with boxes lc rgb "#e8a672" title "ordered, predicted", \
         data index "pipelined" using (right($0)):2 with boxes lc rgb "#7fb2dd" title "pipelined, predicted", \
         data index "ordered" using (left($0)):9 with points lc rgb "black" pt 6 ps 1.8 title "measured", \
         data index "pipelined" using (right($0)):9 with points lc rgb "black" pt 6 ps 1.8 notitle, \
         data index "pipelined" using 0:4:(0.36):xtic(rows($1)) with xerrorbars lc rgb "#555555" pt -1 lw 2 title "bound: no schedule is faster", \
         data index "ordered" using (left($0)):(1.1):(sprintf("%.1f", $2)) with labels notitle, \
         data index "pipelined" using (right($0)):(1.1):(sprintf("%.1f", $2)) with labels notitle
    unset output
}
