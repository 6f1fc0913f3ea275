# Figure of this experiment. kvsim plot sets `data` (rows.dat) and `figure` (path without ending).
set datafile missing "NaN"
set title "Time of a token over the time of its copies, one H200 and 16 staged layers\n{/*0.8 402 spin kernels, 12.3 ms with their gaps, and 0.6 ms of sampling; lines: predicted from what kvsim probe wrote, circles: run}"
set xlabel "copies of a token over the link, ms"
set ylabel "ms per token"
set xrange [2.5:38]
set yrange [12:53]
set grid ytics lc rgb "#dddddd" lt 1
set rmargin 4
set border 3
set tics nomirror
set key top left reverse Left samplen 2.5 spacing 1.2
copies(rows) = (rows + 128) * 34816.0 / 55.4e6

do for [ending in "png svg"] {
    if (ending eq "png") {
        set terminal pngcairo size 1200,700 font "sans,15" linewidth 1.5
    } else {
        set terminal svg size 1200,700 font "sans,15" linewidth 1.5 background rgb "white"
    }
    set output figure.".".ending
    plot data index "ordered" using (copies($1)):3 with lines lc rgb "#d1661f" title "ordered", \
         data index "pipelined+n2" using (copies($1)):3 with lines lc rgb "#8fb7dc" title "pipelined, look-ahead 2", \
         data index "pipelined" using (copies($1)):3 with lines lc rgb "#1f6fb4" title "pipelined", \
         data index "pipelined+per-slot" using (copies($1)):3 with lines lc rgb "#2e8b57" title "pipelined, a stream per slot", \
         data index "pipelined+late-kernel" using (copies($1)):3 with lines lc rgb "#8e5ea2" title "pipelined, late rows by a kernel", \
         data index "continuous" using (copies($1)):3 with lines lc rgb "black" title "continuous", \
         data index "continuous" using (copies($1)):(1e3/$4) with lines lc rgb "#888888" dt 2 title "bound", \
         data index "ordered" using (copies($1)):(1e3/$9) with points lc rgb "#d1661f" pt 6 ps 1.6 notitle, \
         data index "pipelined+n2" using (copies($1)):(1e3/$9) with points lc rgb "#8fb7dc" pt 6 ps 1.6 notitle, \
         data index "pipelined" using (copies($1)):(1e3/$9) with points lc rgb "#1f6fb4" pt 6 ps 1.6 notitle, \
         data index "pipelined+per-slot" using (copies($1)):(1e3/$9) with points lc rgb "#2e8b57" pt 6 ps 1.6 notitle, \
         data index "pipelined+late-kernel" using (copies($1)):(1e3/$9) with points lc rgb "#8e5ea2" pt 6 ps 1.6 notitle, \
         data index "continuous" using (copies($1)):(1e3/$9) with points lc rgb "black" pt 6 ps 1.6 notitle
    unset output
}
