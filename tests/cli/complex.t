A hermitian matrix is made, kept in every kind of file, and multiplied with.

  $ tessera generate stencil7:n=3,b=2,type=c64 a.tess
  a.tess: 54 x 54, 135 blocks of 2 x 2, c64, 9.73 kB on disk
  $ tessera info a.tess | grep -E 'size|symmetry'
  size       54 x 54, 540 non-zeros, c64
  symmetry   hermitian
  $ tessera convert a.tess b.mtx --symmetric | sed 's/, [0-9.]* [kK]*B on disk//'
  b.mtx: 54 x 54, 135 blocks of 2 x 2, c64
  $ head -4 b.mtx
  %%MatrixMarket matrix coordinate complex hermitian
  % written by Tessera 0.2.0
  54 54 297
  1 1 1.8618250828323526 0
  $ tessera info b.mtx --json | grep -E '"type"|hermitian'
    "type": "c64",
    "hermitian": true,
  $ tessera convert b.mtx c.tess --block 2 --type c32 | sed 's/, [0-9.]* [kK]*B on disk//'
  c.tess: 54 x 54, 135 blocks of 2 x 2, c32
  $ tessera spmv c.tess --out y.npy | grep -oE ' c32|correct'
   c32
  correct
  $ head -c 60 y.npy | tail -c 50 | tr -d '\0'; echo
  {'descr': '<c8', 'fortran_order': False, 'shape': 
  $ tessera spmv complex.mtx --out y.mtx >/dev/null && tail -1 y.mtx | awk '{ print NF }'
  2

A real matrix becomes complex, and a complex one real where nothing is lost.

  $ tessera convert tridiagonal.mtx d.mtx --type c64 >/dev/null && head -4 d.mtx
  %%MatrixMarket matrix coordinate complex general
  % written by Tessera 0.2.0
  5 5 13
  1 1 2 0
  $ tessera convert d.mtx e.mtx --type f64 >/dev/null && head -4 e.mtx
  %%MatrixMarket matrix coordinate real general
  % written by Tessera 0.2.0
  5 5 13
  1 1 2
  $ tessera convert a.tess f.mtx --type f32
  2> tessera: value 1, -0.468833-0.227176i, is not real, as f32 needs it: a matrix can be made real only where all imaginary parts are 0
  [2]

Systems with it are solved, and x goes to a file of complex numbers.

  $ tessera solve a.tess --device cpu:1 | grep -E '^(matrix|solver|result)' | sed 's/ = .* after.*/ = .../'
  matrix    54 x 54, 135 blocks of 2 x 2, c64
  solver    cg:pc=bjacobi, b is A times ones
  result    CONVERGED: |b - Ax|/|b| = ...
  $ tessera solve a.tess --pc ilu0 --device ref --tol 1e-12 --out x.mtx --history h.csv | grep solver && head -3 x.mtx && tail -n +4 x.mtx | awk '{ if (($1-1)^2 + $2^2 < 1e-18) n++ } END { print n, "ones" }' && head -2 h.csv
  solver    cg:pc=ilu0,tol=1e-12, b is A times ones
  %%MatrixMarket matrix array complex general
  % written by Tessera 0.2.0
  54 1
  54 ones
  iteration,residual
  0,1
  $ tessera spmv a.tess --out y.mtx >/dev/null && tessera solve c.tess --rhs y.mtx --method gmres --pc ssor --tol 1e-5 --json | grep -E '"(solver|rhs|type|reason)"'
    "solver": "gmres:pc=ssor,tol=1e-05",
    "rhs": "y.mtx",
    "type": "c32",
    "reason": "CONVERGED",
  $ tessera solve gen:cdr:n=4,type=c64 --pc ilu0 --device ref | grep solver
  solver    bicgstab:pc=ilu0, b is the generator's

What takes no complex numbers says so.

  $ tessera solve a.tess --method dgmres
  2> tessera: dgmres takes matrices of f64 and f32, this one is c64: use one of cg, cg_single, cg_pipelined, minres, cr, bicg, bicgstab, idr, gmres, fgmres and lsqr
  [2]
  $ tessera solve a.tess --pc amg
  2> tessera: pc=amg takes matrices of f64 and f32, this one is c64: use one of none, jacobi, bjacobi, chebyshev, spai0, ssor, ilu0, ic0, iluk, ick and ilut
  [2]
  $ tessera solve a.tess --method gmres --options scale=match
  2> tessera: scale= takes matrices of f64 and f32, this one is c64: leave it out
  [2]
  $ tessera predict a.tess
  2> tessera: predict takes matrices of f64 and f32, this one is c64: use one of those
  [2]
  $ tessera spmv a.tess --device cpu:1,1
  2> tessera: device 'parts' has no products of complex matrices, and this one is c64: use 'cpu', 'cuda' or 'ref'
  [2]
  $ tessera spmv a.tess --format symmetric
  2> tessera: device 'cpu': format 'symmetric' takes matrices of f64 and f32, this one is c64: use one of those
  [2]
  $ tessera spmv a.tess --out y.txt >/dev/null
  2> tessera: y.txt: text of one number per line cannot hold c64: name a file with .mtx, .mtx.gz or .npy
  [2]
  $ tessera calibrate --type c64
  2> tessera: calibrate takes matrices of f64 and f32, this one is c64: use one of those
  [2]

Format fbcsr has real values: `info` says nothing of it.

  $ tessera info gen:stencil7:n=2,type=c64 | grep -c fbcsr
  0
  [1]
