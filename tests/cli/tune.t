Wisdom is off in tests; a file of their own where it matters.

  $ tessera tune --show
  0 classes known; wisdom is off
  $ tessera tune --forget all
  0 classes forgotten
  $ tessera tune
  2> tessera: tune: INPUT is missing (or --show, or --forget)
  [2]
  $ tessera tune gen:stencil7:n=3,b=2 --effort much
  2> tessera: --effort 'much' is none of estimate, measure, exhaustive
  [2]

The reference backend has one kernel: nothing to search.

  $ tessera tune gen:stencil7:n=3,b=2 --device ref
  matrix   54 x 54, 135 blocks of 2 x 2, f64
  device   ref: 1 thread, plain loops
  class    ref|spmv|2x2|f64|short|regular|memory
  product  spmv moves 5.84 kB
  
  54 x 54 f64, 135 blocks of 2 x 2
  device  ref: 1 thread, plain loops
  format  bsr
  kernel  ref
  moves   0.00584 MB an SpMV
  

A search is remembered, shown and forgotten.

  $ TESSERA_WISDOM=w.json tessera tune gen:stencil7:n=12,b=3 --device cpu:2 --json | grep -cE '"(class|kernel|spmvs|pays_after|seconds|read_GBps)"' | sed 's/[1-9][0-9]*/some/'
  some
  $ TESSERA_WISDOM=w.json tessera tune --show | tail -n 1
  1 class known, kept in w.json
  $ TESSERA_WISDOM=w.json tessera tune --forget '|3x3|'
  1 class forgotten
  $ TESSERA_WISDOM=w.json tessera tune --show
  0 classes known, kept in w.json

Block sizes are searched too.

  $ tessera tune gen:stencil7:n=6,b=4 --block auto --device cpu:1 | grep -E '^(\*| ) [0-9]+x' | sed -E 's/^..([0-9x]+) .*/\1/' | sort
  1x1
  2x4
  4x2
  4x4

Without a place for models there is nothing to predict from, nor in an empty one.

  $ tessera predict gen:stencil7:n=3,b=2 --device cpu:1
  2> tessera: no place for models: TESSERA_WISDOM is off or HOME not set
  [1]
  $ TESSERA_WISDOM=here/w.json tessera predict gen:stencil7:n=3,b=2 --device cpu:1 2>&1 | sed "s/of '.*' in/of ... in/"
  tessera: no model of ... in here/model.json: `tessera calibrate` makes one
