A problem, its right-hand side, and back.

  $ tessera generate stencil7:n=2,b=1 a.mtx --rhs b.mtx
  a.mtx: 8 x 8, 32 non-zeros, f64, 846 B on disk
  $ head -n 2 a.mtx
  %%MatrixMarket matrix coordinate real general
  % written by Tessera 0.2.0
  $ wc -l <b.mtx
  11
  $ tessera spmv a.mtx --device ref | head -n 1
  matrix   8 x 8, 32 non-zeros, f64
  $ tessera generate gen:trefethen:n=6 t.mtx && sort -n -k 1 -k 2 t.mtx | tail -n 4
  t.mtx: 6 x 6, 28 non-zeros, f64, 250 B on disk
  6 4 1
  6 5 1
  6 6 13
  6 6 28
  $ tessera generate elasticity:n=2 e.tess --json | grep -v file_bytes
  {
    "output": "e.tess",
    "type": "f64",
    "rows": 54,
    "cols": 54,
    "block_rows": 3,
    "block_cols": 3,
    "blocks": 196,
  }

The same text gives the same bits with any number of threads.

  $ tessera generate cdr:n=6,b=3 one.tess --threads 1 >/dev/null
  $ tessera generate cdr:n=6,b=3 four.tess --threads 4 >/dev/null
  $ cmp one.tess four.tess

  $ tessera generate stencil:n=3 x.mtx
  2> tessera: unknown generator 'stencil' (nearest: 'stencil7')
  [2]
  $ tessera generate stencil7:n=0 x.mtx
  2> tessera: gen:stencil7: n=0 is outside 1..2147483647
  [2]
  $ tessera generate elasticity:n=2 no/such/x.mtx
  2> tessera: no/such/x.mtx: cannot be created: No such file or directory; make its directory, or name another file
  [1]
