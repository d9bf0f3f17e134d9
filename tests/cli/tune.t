Wisdom is off in tests; a file of their own where it matters.

  $ tessera tune --show
  0 classes known; wisdom is off
  $ tessera tune --forget all
  0 classes forgotten
  $ tessera tune --forget all --json
  {
    "forgotten": 0
  }
  $ tessera tune
  2> tessera: tune: INPUT is missing (or --show, or --forget)
  [2]
  $ tessera tune gen:stencil7:n=3,b=2 --show
  2> tessera: tune: --show takes no INPUT: leave it out
  [2]
  $ tessera tune --forget ''
  2> tessera: --forget needs a value: --forget PART
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
  moves   0.00584 MB per SpMV
  

A search is remembered, shown and forgotten.

  $ TESSERA_WISDOM=w.json tessera tune gen:stencil7:n=12,b=3 --device cpu:2 --json | grep -cE '"(class|kernel|spmvs|pays_after|seconds|read_GBps)"' | sed 's/[1-9][0-9]*/some/'
  some
  $ TESSERA_WISDOM=w.json tessera tune --show | tail -n 1
  1 class known, kept in w.json
  $ TESSERA_WISDOM=w.json tessera tune --show | grep -c 'GB/s: matrix and vectors over time'
  1
  $ TESSERA_WISDOM=w.json tessera tune --show | grep -c 'other kernels'
  0
  [1]
  $ sed -i 's/"kernels": "[0-9a-f]*"/"kernels": "0"/' w.json
  $ TESSERA_WISDOM=w.json tessera tune --show | grep -c 'other kernels'
  1
  $ TESSERA_WISDOM=w.json tessera tune --forget '|3x3|'
  1 class forgotten
  $ TESSERA_WISDOM=w.json tessera tune --show
  0 classes known, kept in w.json

A matrix with hardly any entries has no blockings to compare.

  $ printf '%%%%MatrixMarket matrix coordinate real general\n1000 1000 3\n3 4 1\n500 7 1\n900 2 1\n' >few.mtx
  $ tessera tune few.mtx --device cpu:1 --block auto --effort estimate | head -n 1
  matrix   1 000 x 1 000, 3 non-zeros, f64
  $ tessera tune few.mtx --device cpu:1 --block auto --effort estimate --json | grep -E '"(block_height|blockings)"'
    "block_height": 1,
    "blockings": []

What holds something else is not used and not replaced.

  $ echo '{' > damaged.json
  $ TESSERA_WISDOM=damaged.json tessera tune --show
  0 classes known, kept in damaged.json
  2> wisdom: damaged.json is not wisdom (line 2: string or '}' expected near end of file) and stays as it is: name another file (TESSERA_WISDOM), or remove it
  $ cp tridiagonal.mtx A.mtx
  $ TESSERA_WISDOM=A.mtx tessera spmv gen:stencil7:n=24,b=3 --device cpu:1 > /dev/null
  2> wisdom: A.mtx is not wisdom (line 1: '[' or '{' expected near '%') and stays as it is: name another file (TESSERA_WISDOM), or remove it
  2> wisdom: not kept: A.mtx is not wisdom (line 1: '[' or '{' expected near '%') and stays as it is: name another file (TESSERA_WISDOM), or remove it
  $ TESSERA_WISDOM=A.mtx tessera tune gen:stencil7:n=4,b=3 --device cpu:1
  2> wisdom: A.mtx is not wisdom (line 1: '[' or '{' expected near '%') and stays as it is: name another file (TESSERA_WISDOM), or remove it
  2> tessera: A.mtx is not wisdom (line 1: '[' or '{' expected near '%') and stays as it is: name another file (TESSERA_WISDOM), or remove it
  [2]
  $ TESSERA_WISDOM=A.mtx tessera tune --forget all
  2> wisdom: A.mtx is not wisdom (line 1: '[' or '{' expected near '%') and stays as it is: name another file (TESSERA_WISDOM), or remove it
  2> tessera: A.mtx is not wisdom (line 1: '[' or '{' expected near '%') and stays as it is: name another file (TESSERA_WISDOM), or remove it
  [2]
  $ tessera calibrate --device cpu:1 --blocks 1 --megabytes 1 --out A.mtx
  2> tessera: A.mtx is not a model (line 1: '[' or '{' expected near '%') and stays as it is: name another file, or remove it
  [2]
  $ cmp tridiagonal.mtx A.mtx
  $ TESSERA_CACHE=A.mtx tessera cache
  2> tessera: A.mtx is no directory, so compiled kernels cannot be kept in it: set TESSERA_CACHE to one
  [2]
  $ TESSERA_CACHE=A.mtx tessera cache clear
  2> tessera: A.mtx is no directory, so compiled kernels cannot be kept in it: set TESSERA_CACHE to one
  [2]

A search that cannot be kept is not begun.

  $ TESSERA_WISDOM=w.json/none tessera tune gen:stencil7:n=4,b=3 --device cpu:1
  2> tessera: w.json/none: Not a directory; name another file (TESSERA_WISDOM)
  [2]
  $ TESSERA_WISDOM=/proc/none/w.json tessera tune gen:stencil7:n=4,b=3 --device cpu:1
  2> tessera: /proc/none/w.json: No such file or directory; name another file (TESSERA_WISDOM)
  [2]
  $ mkdir beside && echo '{' > beside/model.json
  $ TESSERA_WISDOM=beside/w.json tessera predict gen:stencil7:n=4,b=3 --device cpu:1 >/dev/null
  2> model: beside/model.json is not a model (line 2: string or '}' expected near end of file) and stays as it is: name another file, or remove it

Block sizes are searched too.

  $ tessera tune gen:stencil7:n=6,b=4 --block auto --device cpu:1 | grep -E '^(\*| ) [0-9]+x' | sed -E 's/^..([0-9x]+) .*/\1/' | sort
  1x1
  2x4
  4x2
  4x4

A prediction needs no run; a machine that was never calibrated gets a similar one's.

  $ tessera predict gen:stencil7:n=8,b=2 --device cpu:1 --devices 3 | sed -E 's/^(model ).*/\1.../; s/ +/ /g' | grep -E '^(matrix|model|devices| kernel| [123] |[0-9]+ dev)' | sed -E 's/^( [123]) .*/\1/; s/^[0-9]+ devices? (is|are)/N are/'
  matrix 1 024 x 1 024, 3 200 blocks of 2 x 2, f64
  model ...
   kernel time at best GB/s memory
  devices SpMV p.Ap r, z x, p halo sums CG iteration at best GFLOP/s useful speed-up
   1
   2
   3
  N are worth it: each adds at least half of its share
  devices largest part halo messages communication eq. 11 direct by the host
   2
   3
  devices SpMV p.Ap r, z x, p halo sums CG iteration at best GFLOP/s useful of one
   1
   2
   3
  $ tessera predict gen:stencil7:n=8,b=2 --device cpu:1 | grep -oE '^(GB/s: matrix and vectors over time|GFLOP/s count the zeros inside blocks)'
  GB/s: matrix and vectors over time
  GFLOP/s count the zeros inside blocks
  $ tessera tune gen:stencil7:n=12,b=3 --device cpu:1 | grep -o '^GB/s: matrix and vectors over time; of read: .*'
  GB/s: matrix and vectors over time; of read: what the format moves, of what the device can read
  $ tessera predict gen:stencil7:n=8,b=2 --device cpu:1 --json | grep -oE '^  "[a-z_]+"' | sort
    "block_height"
    "bytes"
    "density"
    "kernels"
    "measured_cg_seconds"
    "model"
    "partition"
    "predictions"
    "stand_in"
    "weak"
    "worthwhile"
  $ tessera predict gen:stencil7:n=3,b=2 --device ref
  2> tessera: no model of device 'ref': `tessera calibrate` makes one where it can be measured
  [2]
  $ tessera predict gen:stencil7:n=6,b=2 --device cpu:1 --devices 4 --partition cyclic | grep predicted
  predicted, strong scaling: this matrix dealt out, cyclic partition
  predicted, weak scaling: a matrix of this size on every device
  $ tessera predict gen:stencil7:n=3,b=2 --device cpu:1 --devices 2 --partition circle
  2> tessera: unknown partition 'circle' (one of: contiguous, cyclic, metis, scotch)
  [2]
  $ tessera predict gen:stencil7:n=3,b=2 --devices 0
  2> tessera: --devices: 0 is outside 1..1024
  [2]
  $ tessera predict gen:stencil7:n=3,b=2 --devices 1 --link 300
  2> tessera: predict: --link does nothing with --devices 1: leave one out
  [2]
  $ tessera predict gen:stencil7:n=3,b=2 --device cpu:1 --devices 1 --shared --sync 5
  2> tessera: predict: --sync does nothing with --devices 1: leave one out
  [2]
  $ tessera predict gen:stencil7:n=3,b=2 --device cpu:1 --devices 1 | grep -oE '^devices'
  devices
  $ tessera predict gen:stencil7:n=3,b=2 --sync -1
  2> tessera: --sync: -1 is outside 0..1000000
  [2]
  $ tessera predict gen:stencil7:n=3 --devices 2 --latency 0
  2> tessera: --latency: 0 is not more than 0: leave it out for the default
  [2]
  $ tessera predict ''
  2> tessera: predict: an operand is empty; usage: tessera predict [INPUT]
  [2]
  $ tessera calibrate --blocks 1,129
  2> tessera: --blocks: '129' is no block size in 0..128, nor a range of them
  [2]
  $ tessera calibrate --blocks 9-4
  2> tessera: --blocks: '9-4' is no block size in 0..128, nor a range of them
  [2]
  $ tessera calibrate --blocks 4,
  2> tessera: --blocks: '' is no block size in 0..128, nor a range of them
  [2]
  $ tessera calibrate --megabytes 0
  2> tessera: --megabytes: 0 is outside 1..1000000
  [2]
  $ tessera calibrate --device cpu:1 --blocks 32 --megabytes 1 --classes none 2>&1 | sed 's/ (one of.*//'
  tessera: classes: this device has no kernels of class 'none'
  $ tessera calibrate --quick --blocks 3 --device cpu:1
  2> tessera: calibrate: --blocks does nothing with --quick: leave one out
  [2]
  $ tessera calibrate --quick --device ref
  2> tessera: no model stands in for device 'ref': `tessera calibrate` makes one where it can be measured
  [2]
  $ tessera calibrate --device ref
  2> tessera: device 'ref' cannot be calibrated, as it has no list of kernels: choose 'cpu' or 'cuda'
  [2]

A stand-in is scaled by a few products, and a second measurement finds nothing left to scale.

  $ TESSERA_WISDOM=scaled/wisdom.json tessera calibrate --quick --device cpu:1 | sed -E 's/^(device).*/\1/; s/[0-9.]+ times/N times/g; s/(kept in).*\//\1 /'
  device
  
  The model that stands in for it, scaled: N times its throughput from memory, N times
  in the cache.
  kept in model.json
  $ python3 -c "import json; d = json.load(open('scaled/model.json')); print(*(sorted(m) + [len(m['scale']), min(m['scale']) > 0] for m in d['devices'].values()))"
  ['scale', 'scale_of', 2, True]

Of a GPU that is not here the tables and its built-in model tell; it cannot be run.

  $ tessera predict gen:stencil27:n=24,b=3 --device profile:h200 | sed -nE 's/ +/ /g; /^(model|\*)/p' | sed -E 's/(sliced sliced) .*/\1 .../'
  model cuda, NVIDIA H200, 132 SMs
  * sliced sliced ...

Parameters that the model cannot tell apart are one line, in JSON they are all there.

  $ tessera predict gen:stencil27:n=24,b=3 --device profile:h200 | grep -c ' sliced C='
  1
  $ tessera predict gen:stencil27:n=24,b=3 --device profile:h200 | grep -c 'predicted alike'
  1

  $ tessera predict gen:stencil7:n=3,b=2 --device profile:h2000
  2> tessera: device 'profile:h2000': no such profile (nearest: 'h200')
  [2]
  $ tessera spmv gen:stencil7:n=3,b=2 --device profile:h200
  2> tessera: device 'profile:h200' is known by its performance model only: it can be predicted (tess_predict, `tessera predict`), not run
  [2]

The map is an SVG with three panels at best and three in the average, their axes and the line where devices begin to pay.

  $ tessera predict gen:stencil27:n=8,b=4 --device cpu:1 --devices 4 --map map.svg >/dev/null
  $ python3 -c "import xml.etree.ElementTree as t; r = t.parse('map.svg').getroot(); c = [(e.get('class') or '').split() for e in r.iter()]; print(r.tag.split('}')[1], *(sum(n in k for k in c) for n in ('title', 'even', 'dash')), 'lines')"
  svg 6 2 12 lines
  $ grep -oE '(GFLOP/s of CG, [0-9] devices?|speed-up of [0-9] devices|unknowns|stored elements)<' map.svg | sort | uniq -c | sed 's/^ *//; s/<//'
  2 GFLOP/s of CG, 1 device
  2 GFLOP/s of CG, 4 devices
  2 speed-up of 4 devices
  6 stored elements
  6 unknowns
  $ tessera predict --map alone.svg --block 3 --device profile:h200 --devices 4 | sed 's/by the model of .*/by .../' && grep -c 'GFLOP/s of CG, 4 devices' alone.svg
  alone.svg: CG with 3 x 3 blocks on one device and on 4, by ...
  2
  $ tessera predict --map alone.svg --device profile:h200 | sed 's/by the model of .*/by .../'
  alone.svg: CG with 1 x 1 blocks on one device and on 2, by ...
  $ tessera predict --map alone.svg --device profile:h200 --block 3 --json
  {
    "map": "alone.svg",
    "block_height": 3,
    "devices": 2,
    "model": "cuda, NVIDIA H200, 132 SMs",
    "stand_in": false
  }
  $ tessera predict --map alone.svg --block 2x3
  2> tessera: predict: --map without INPUT takes square blocks: --block 3
  [2]
  $ tessera predict
  2> tessera: predict: INPUT is missing (or --map FILE without it)
  [2]
  $ tessera predict --map alone.svg --check
  2> tessera: predict: --check runs the products of INPUT: name one, or leave --check out
  [2]
  $ tessera predict gen:stencil27:n=8,b=4 --device cpu:1 --map no/such/map.svg >/dev/null
  2> tessera: no/such/map.svg: cannot be created: No such file or directory; make its directory, or name another file
  [1]
