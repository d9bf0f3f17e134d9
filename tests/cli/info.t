The report for people.

  $ tessera info blocks2.mtx
  blocks2.mtx
  
  size       6 x 6, 16 non-zeros, f64
  symmetry   not symmetric: 60 % of the entries off the diagonal have a mirror
  diagonal   complete
  bandwidth  1 below the diagonal, 5 above
  rows       2 to 4 non-zeros, 2.7 on average
  
  non-zeros in a row        rows
            2..3              4  ########################################
            4..7              2  ####################
  
      block         blocks  density      fill   SpMV moves   to 1 x 1
      1 x 1             16    1.000      1.00        316 B       +0 %
  >   2 x 2              4    1.000      1.00        256 B      -19 %
      3 x 3              4    0.444      2.25        412 B      +30 %
      4 x 4              3    0.333      3.00        504 B      +59 %
      5 x 5              4    0.160      6.25        924 B     +192 %
      6 x 6              1    0.444      2.25        396 B      +25 %
      7 x 7              1    0.327      3.06        500 B      +58 %
      8 x 8              1    0.250      4.00        620 B      +96 %
  
      shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1
                 2x2            4    100.0 %   1.000        284 B      -10 %
  
  natural    blocks of 2 x 2
  advice     store 2 x 2 blocks
  because    2 x 2 blocks are 100.0 % full and move 0.000256 MB in an SpMV, 0.81
             times CSR's 0.000316 MB
  fbcsr      no list of shapes saves enough of CSR's bytes to pay for the
             splitting
  cost       a product moves 256 B for 32 flop: 0.12 flop per byte, so memory
             decides its speed
  $ tessera info tridiagonal.mtx
  tridiagonal.mtx
  
  size       5 x 5, 13 non-zeros, f64
  symmetry   symmetric
  diagonal   complete
  bandwidth  1 below the diagonal, 1 above
  rows       2 to 3 non-zeros, 2.6 on average
  
  non-zeros in a row        rows
            2..3              5  ########################################
  
      block         blocks  density      fill   SpMV moves   to 1 x 1
  >   1 x 1             13    1.000      1.00        260 B       +0 %
      2 x 2              7    0.464      2.15        348 B      +34 %
      3 x 3              4    0.361      2.77        396 B      +52 %
      4 x 4              4    0.203      4.92        620 B     +138 %
      5 x 5              1    0.520      1.92        292 B      +12 %
      6 x 6              1    0.361      2.77        380 B      +46 %
      7 x 7              1    0.265      3.77        484 B      +86 %
      8 x 8              1    0.203      4.92        604 B     +132 %
  
      shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1
                 3x3            1     53.8 %   0.778        256 B       -2 %
                 2x2            2     61.5 %   1.000        244 B       -6 %
  
  natural    no block size
  advice     do not block
  because    the cheapest blocks, 2 x 1 and 72.2 % full, move 1.06 times CSR's
             0.00026 MB in an SpMV
  fbcsr      no list of shapes saves enough of CSR's bytes to pay for the
             splitting
  cost       a product moves 260 B for 26 flop: 0.10 flop per byte, so memory
             decides its speed
  $ tessera info pattern.mtx | head -n 7
  pattern.mtx
  
  size       3 x 4, 4 non-zeros, f64
  symmetry   rectangular
  diagonal   1 missing
  bandwidth  1 below the diagonal, 3 above
  rows       0 to 2 non-zeros, 1.3 on average; 1 empty
  $ tessera info gen:elasticity:n=3
  gen:elasticity:n=3
  
  size       144 x 144, 6 300 non-zeros, f64 (1 060 of them stored zeros)
  symmetry   symmetric
  diagonal   complete
  bandwidth  50 below the diagonal, 50 above
  rows       24 to 81 non-zeros, 43.8 on average
  
  non-zeros in a row        rows
          16..31             24  #########
          32..63            108  ########################################
         64..127             12  #####
  
      block         blocks  density      fill   SpMV moves   to 1 x 1
      1 x 1          6 300    1.000      1.00      78.5 kB       +0 %
      2 x 2          1 860    0.847      1.18      69.6 kB      -11 %
  >   3 x 3            700    1.000      1.00      55.7 kB      -29 %
      4 x 4            550    0.716      1.40      75.1 kB       -4 %
      5 x 5            411    0.613      1.63      86.3 kB      +10 %
      6 x 6            240    0.729      1.37      72.5 kB       -8 %
      7 x 7            237    0.542      1.84      96.2 kB      +23 %
      8 x 8            174    0.566      1.77      92.2 kB      +17 %
  
      shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1
              row:32           60     25.7 %   0.844      74.9 kB       -5 %
           column:32           60     25.7 %   0.844      74.9 kB       -5 %
         diagonal:32          150     60.5 %   0.795      72.3 kB       -8 %
     antidiagonal:32           68     27.0 %   0.781      76.0 kB       -3 %
                 8x8          100     82.5 %   0.812      68.1 kB      -13 %
                 4x4          400     85.1 %   0.838      68.6 kB      -13 %
                 3x3          700    100.0 %   1.000      58.9 kB      -25 %
                 2x2        1 440     91.4 %   1.000      67.0 kB      -15 %
  
  natural    blocks of 3 x 3
  advice     store 3 x 3 blocks
  because    3 x 3 blocks are 100.0 % full and move 0.0557 MB in an SpMV, 0.71
             times CSR's 0.0785 MB
  fbcsr      6x3/3x3 blocks hold 100.0 % of the non-zeros, are 100.0 % full and
             move 0.72 times CSR's bytes, 1.01 times those of 3 x 3 blocks
  cost       a product moves 55.7 kB for 12.6 kflop: 0.23 flop per byte, so memory
             decides its speed
  $ tessera info gen:powerlaw:rows=1000,avg=2,b=1,long=1,length=900 | grep -A 1 ^rows
  rows       1 to 979 non-zeros, 2.9 on average
             the longest is 332 times the average: rows must be cut to balance threads
  $ tessera info gen:random:rows=5,avg=0
  gen:random:rows=5,avg=0
  
  size       5 x 5, 0 non-zeros, f64
  symmetry   symmetric
  diagonal   5 missing
  bandwidth  0 below the diagonal, 0 above
  rows       0 to 0 non-zeros, 0.0 on average; 5 empty
  
  non-zeros in a row        rows
               0              5  ########################################
  
  natural    no block size
  advice     do not block
  because    the matrix has no entries
  $ LC_ALL=C.UTF-8 tessera info pattern.mtx | grep 2..3
            2..3              2  ████████████████████████████████████████

Stored zeros count, unless told otherwise.

  $ tessera info gen:elasticity:n=3 --ignore-zeros | sed -n 3p
  size       144 x 144, 5 240 non-zeros, f64
  $ tessera info gen:elasticity:n=3 --ignore-zeros --json | grep -E '"(nnz|zeros|natural_block)"'
    "nnz": 5240,
    "zeros": 0,
    "natural_block": 1,

106 sizes are counted, some at several offsets; --all shows them.

  $ tessera info blocks2.mtx --all | grep -cE '^[> ] +[0-9]+ x [0-9]+ '
  106
  $ tessera info blocks2.mtx --all | grep -E '^[> ] +2 x 4 '
      2 x 4              4    0.500      2.00        384 B      +22 %

The same for programs; these keys are stable.

  $ tessera info tridiagonal.mtx --json | sed -n '1,/"blocking"/p'
  {
    "input": "tridiagonal.mtx",
    "type": "f64",
    "rows": 5,
    "cols": 5,
    "nnz": 13,
    "zeros": 0,
    "symmetric": true,
    "skew_symmetric": false,
    "pattern_symmetric": true,
    "asymmetry": 0.0,
    "missing_diagonal": 0,
    "zero_diagonal": 0,
    "row_min": 2,
    "row_max": 3,
    "row_avg": 2.6,
    "imbalance": 1.15384615385,
    "empty_rows": 0,
    "row_histogram": [
      {
        "from": 2,
        "to": 3,
        "rows": 5
      }
    ],
    "lower_bandwidth": 1,
    "upper_bandwidth": 1,
    "blocking": [
  $ tessera info tridiagonal.mtx --json | sed -n '/"blocking"/,/}/p'
    "blocking": [
      {
        "rows": 1,
        "cols": 1,
        "row_offset": 0,
        "col_offset": 0,
        "blocks": 13,
        "fill": 1.0,
        "density": 1.0,
        "bytes": 260.0,
        "index_bytes_saved": 0.0
      },
  $ tessera info tridiagonal.mtx --json | sed -n '/"natural_block"/,$p'
    "natural_block": 1,
    "recommended": {
      "rows": 1,
      "cols": 1,
      "density": 1.0,
      "bytes": 260.0,
      "reason": "do not block this: the cheapest blocks, 2 x 1 and 72.2 % full, move 1.06 times CSR's 0.00026 MB in an SpMV"
    },
    "fbcsr": {
      "shapes": [
        {
          "shape": "32x32",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "row:32",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "column:32",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "diagonal:32",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "antidiagonal:32",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "8x8",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "4x4",
          "blocks": 0,
          "nonzeros": 0,
          "share": 0.0,
          "fill": 0.0,
          "bytes": 260.0
        },
        {
          "shape": "3x3",
          "blocks": 1,
          "nonzeros": 7,
          "share": 0.538461538462,
          "fill": 0.777777777778,
          "bytes": 256.0
        },
        {
          "shape": "2x2",
          "blocks": 2,
          "nonzeros": 8,
          "share": 0.615384615385,
          "fill": 1.0,
          "bytes": 244.0
        }
      ],
      "auto": {
        "shapes": "",
        "blocks": 0,
        "nonzeros": 0,
        "share": 0.0,
        "fill": 0.0,
        "bytes": 260.0
      },
      "csr_bytes": 260.0,
      "best_blocks": {
        "rows": 2,
        "cols": 1,
        "bytes": 276.0
      }
    },
    "regrouping": {
      "block": 1,
      "fields": 0,
      "blocks": 13,
      "density": 1.0,
      "bytes": 260.0,
      "reason": "no order of the unknowns was found that makes blocks which pay"
    }
  }
  $ tessera info blocks2.mtx --json | tr -d ' \n' | grep -oE '"rows":[1-8],"cols":[1-8],"row_offset":0,"col_offset":0' | awk -F '[:,]' '$2 == $4' | sort | uniq -c
        1 "rows":1,"cols":1,"row_offset":0,"col_offset":0
        1 "rows":2,"cols":2,"row_offset":0,"col_offset":0
        1 "rows":3,"cols":3,"row_offset":0,"col_offset":0
        1 "rows":4,"cols":4,"row_offset":0,"col_offset":0
        1 "rows":5,"cols":5,"row_offset":0,"col_offset":0
        1 "rows":6,"cols":6,"row_offset":0,"col_offset":0
        1 "rows":7,"cols":7,"row_offset":0,"col_offset":0
        1 "rows":8,"cols":8,"row_offset":0,"col_offset":0
  $ tessera info gen:random:rows=5,avg=0 --json | grep -c row_offset
  8

Bad input is as everywhere.

  $ tessera info
  2> tessera: info: an operand is missing; usage: tessera info INPUT
  [2]
  $ tessera info outside.mtx --json
  2> tessera: outside.mtx:3: column 4 is outside 1..3; mend it there, or fetch the file again
  [2]

Blocks of other shapes, wherever they lie.

  $ tessera info gen:planted:rows=1200,shapes=6x6/diagonal:24,blocks=24,noise=1 | tail -n 16
      8 x 8          2 856    0.096     10.44      1.49 MB     +538 %
  
      shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1
         diagonal:32          345     47.4 %   0.751       226 kB       -4 %
                 4x4          510     35.0 %   0.750       230 kB       -2 %
                 3x3        1 020     52.5 %   1.000       205 kB      -12 %
                 2x2        2 292     52.4 %   1.000       216 kB       -8 %
  
  natural    no block size
  advice     do not block
  because    the cheapest blocks, 2 x 1 and 64.2 % full, move 1.26 times CSR's
             0.234 MB in an SpMV
  fbcsr      no list of shapes saves enough of CSR's bytes to pay for the
             splitting
  cost       a product moves 234 kB for 35.0 kflop: 0.15 flop per byte, so memory
             decides its speed
  $ tessera info gen:planted:rows=1200,shapes=row:32,blocks=18,noise=0 --all | grep -A 9 anywhere
      shape anywhere       blocks   extracts    fill   SpMV moves   to 1 x 1
               32x32            0      0.0 %   0.000       148 kB       +0 %
              row:32          324    100.0 %   1.000       110 kB      -26 %
           column:32            0      0.0 %   0.000       148 kB       +0 %
         diagonal:32            0      0.0 %   0.000       148 kB       +0 %
     antidiagonal:32            0      0.0 %   0.000       148 kB       +0 %
                 8x8            0      0.0 %   0.000       148 kB       +0 %
                 4x4            0      0.0 %   0.000       148 kB       +0 %
                 3x3            0      0.0 %   0.000       148 kB       +0 %
                 2x2            0      0.0 %   0.000       148 kB       +0 %
  $ tessera info gen:planted:rows=1200,shapes=row:32,blocks=18,noise=0 --json | tr -d ' \n' | grep -oE '"auto":.*'
  "auto":{"shapes":"row:32","blocks":324,"nonzeros":10368,"share":1.0,"fill":1.0,"bytes":109540.0},"csr_bytes":148420.0,"best_blocks":{"rows":1,"cols":4,"bytes":126100.0}},"regrouping":{"block":1,"fields":0,"blocks":10368,"density":1.0,"bytes":148420.0,"reason":"noorderoftheunknownswasfoundthatmakesblockswhichpay"}}

Fields that follow each other hide blocks: all first unknowns, then all second ones, then all third ones.

  $ tessera convert gen:stencil27:n=6,b=3 - 2> note | awk 'function f(i) { return (i - 1) % 3 * 216 + int((i - 1) / 3) + 1 } /^%/ { print; next } !n++ { print; next } { print f($1), f($2), $3 }' > fields.mtx
  $ tessera info fields.mtx | grep -A 2 renumber
  renumber   3 fields of 216 unknowns: interleaved they are 100 % full blocks of 3
             x 3, which move 0.323 MB in an SpMV, 0.71 times CSR's
             a plan of --block 1 permutes inside, where it pays (--regroup)

What parts would have, without MPI: one line a partition, and each part in JSON.

  $ tessera info gen:stencil7:n=6,b=2 --parts 4 | sed -n '/parts in blocks/,$p'
  4 parts in blocks of 2 x 2
    partition   rows at most      moves  to mean  halo at most neighbours    travels  speed-up
    contiguous           112    15.1 kB    1.026          144          2    3.46 kB     3.67
    cyclic               108    15.5 kB    1.025          204          3    4.99 kB     3.58
    metis       METIS is not here: install it (Debian: libmetis5), or take a contiguous partition
    scotch      SCOTCH is not here: install it (Debian: libscotch-7.0), or take a contiguous partition
  of one product. moves: by the part that moves most; to mean: that over the mean; halo: rows
  of x of other parts, each once, which is the least that any product needs; travels: all halos;
  speed-up: one part's bytes over the most, messages not counted
  $ tessera info gen:stencil7:n=6,b=2 --parts 2,cyclic | sed -n '/parts in blocks/,$p' | head -3
  2 parts in blocks of 2 x 2
    partition   rows at most      moves  to mean  halo at most neighbours    travels  speed-up
    cyclic               216    28.8 kB    1.000          144          1    2.30 kB     1.92
  $ tessera info gen:stencil7:n=3,b=2 --parts 2,contiguous --json | tr -d ' \n' | grep -oE '"parts":.*'
  "parts":{"count":2,"block":2,"partitions":[{"partition":"contiguous","available":true,"in_order":true,"bytes_most":3260.0,"bytes_one_part":5940.0,"travels_bytes":288.0,"messages":2,"list":[{"rows":28,"blocks":71,"outside_blocks":13,"halo_rows":18,"sent_rows":18,"neighbours":1,"bytes":3260.0},{"rows":26,"blocks":64,"outside_blocks":13,"halo_rows":18,"sent_rows":18,"neighbours":1,"bytes":2968.0}]}]}}
  $ tessera info blocks2.mtx --parts 3 | sed -n '/parts in blocks/,$p' | head -3
  3 parts in blocks of 2 x 2
    partition   rows at most      moves  to mean  halo at most neighbours    travels  speed-up
    contiguous             2      128 B    1.371            2          1       16 B     2.06
  $ tessera info gen:stencil7:n=6,b=2 --parts 2,metis
  2> tessera: METIS is not here: install it (Debian: libmetis5), or take a contiguous partition
  [2]
  $ tessera info gen:stencil7:n=6,b=2 --parts 2,cyclik
  2> tessera: unknown partition 'cyclik' (nearest: 'cyclic')
  [2]
  $ tessera info gen:stencil7:n=6,b=2 --parts 0
  2> tessera: --parts 0: N or N,PARTITION with N in 1..65536
  [2]
  $ tessera info gen:random:rows=10,cols=12 --parts 2
  2> tessera: parts need a square matrix of square blocks, not 10 x 12 of 1 x 1: store it in square blocks, or use one part
  [2]
