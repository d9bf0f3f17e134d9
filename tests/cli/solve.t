Times vary, the rest does not. A generated problem brings its right-hand side.

  $ tessera solve gen:elasticity:n=4 --device ref | grep -vE '^(time|memory| )'
  matrix    300 x 300, 1 690 blocks of 3 x 3, f64
  device    ref: 1 thread, plain loops
  kernel    bsr ref
  solver    cg:pc=bjacobi, b is the generator's
  result    CONVERGED: |b - Ax|/|b| = 6.61e-09 after 32 iterations
  residual  6.61e-09 by the recurrence, 6.61e-09 recomputed
  $ tessera solve gen:cdr:n=4 --device ref --pc ilu0 --tol 1e-10 | grep -E '^(solver|result)' | sed 's/ = .* after/ = ... after/'
  solver    bicgstab:pc=ilu0,tol=1e-10, b is the generator's
  result    CONVERGED: |b - Ax|/|b| = ... after 6 iterations
  $ tessera solve gen:elasticity:n=3 --device ref --pc bjacobi --tol 0 2>/dev/null | grep '^solver'
  solver    cg:pc=bjacobi,tol=0, b is the generator's
  $ tessera solve gen:elasticity:n=3 --device ref --tol much
  2> tessera: --tol: 'much' is not a number such as 1e-8
  [2]
  $ tessera solve gen:elasticity:n=3 --device ref --method gmres --pc ic0 --options restart=10 --json | grep -oE '"[a-z_]+":'
  "device":
  "format":
  "kernel":
  "params":
  "solver":
  "rhs":
  "type":
  "rows":
  "block":
  "blocks":
  "reason":
  "text":
  "solved":
  "iterations":
  "residual":
  "true_residual":
  "normal_residual":
  "setup_seconds":
  "seconds":
  "seconds_spmv":
  "seconds_pc":
  "seconds_dots":
  "seconds_vectors":
  "bytes":
  "gb_per_s":
  "read_gb_per_s":

What auto found has the tolerances, so that it ends where auto did.

  $ tessera solve gen:stencil7:n=6,b=2 --device ref --options tol=0,atol=1e-3 | grep '^solver'
  solver    cg:pc=bjacobi,tol=0,atol=0.001, b is the generator's

A kernel with its parameters may be long.

  $ tessera solve gen:stencil7:n=4,b=1 --device cpu:1 --method cg --format fbcsr --params shapes=4x4/5x5/6x6/7x7/8x8/9x9/10x10/11x11/12x12/13x13/14x14/15x15/16x16 | grep '^kernel' | sed 's/_f64_[a-z0-9]* /_f64 /'
  kernel    fbcsr fbcsr_spmv_f64 shapes=4x4/5x5/6x6/7x7/8x8/9x9/10x10/11x11/12x12/13x13/14x14/15x15/16x16

A file's right-hand side is A times ones, or another file; x, the history and its picture go to files.

  $ tessera solve tridiagonal.mtx --device ref --out x.mtx --history h.csv --plot h.svg | grep solver && tail -n +4 x.mtx | awk '{printf "%.6f\n", $1}' && head -n 2 h.csv && grep -c polyline h.svg
  solver    cg:pc=bjacobi, b is A times ones
  1.000000
  1.000000
  1.000000
  1.000000
  1.000000
  iteration,residual
  0,1
  1
  $ grep -oE '>(cg:pc=[a-z]*|tolerance [^<]*|CONVERGED[^<]*|iteration|10⁻⁸)<' h.svg | sort -u
  >10⁻⁸<
  >CONVERGED: |b - Ax|/|b| = 0 after 3 iterations<
  >cg:pc=bjacobi<
  >iteration<
  >tolerance 1e-08<
  $ tessera solve blocks2.mtx --rhs x6.mtx --device ref --method gmres --pc none --type f32 --tol 1e-5 | grep solver
  solver    gmres:pc=none,tol=1e-05, b is x6.mtx

Rows that add up to 0 would make it 0, so it is another product.

  $ printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 -1\n2 2 2\n3 2 -1\n3 3 1\n' >path.mtx
  $ tessera solve path.mtx --block 1 --device ref --method minres --pc none | grep -E '^(solver|result)' | sed 's/ = .* after/ = ... after/'
  solver    minres:pc=none, b is A times 1 + (i mod 7)/7, as A times ones is 0
  result    CONVERGED: |b - Ax|/|b| = ... after 1 iteration

Not solved is exit status 1, bad input 2.

  $ tessera solve gen:elasticity:n=4 --device ref --pc bjacobi --max-iterations 3 >/dev/null
  2> tessera: not solved: |r|/|b| = 1.88 after 3 iterations, the most allowed; try a larger --max-iterations, or --pc ic0
  [1]
  $ tessera solve tridiagonal.mtx --rhs x6.mtx --device ref
  2> tessera: x6.mtx has 6 elements, the matrix 5 rows: name a vector of 5
  [2]
  $ tessera solve gen:elasticity:n=2 --device ref --method cgg
  2> tessera: unknown method 'cgg' (nearest: 'cg')
  [2]
  $ tessera solve gen:elasticity:n=2 --device ref --pc ilu
  2> tessera: cg: pc=ilu is not a choice (nearest: 'ilu0')
  [2]
  $ tessera solve gen:random:rows=5,cols=6 --device ref --method gmres
  2> tessera: gmres needs a square matrix, not 5 x 6: auto and lsqr take any
  [2]

What a solver cannot do is refused with what it could.

  $ tessera solve gen:random:rows=6,cols=4,count=2,r=2,c=3 --device ref --method gmres --pc bjacobi
  2> tessera: pc=bjacobi needs square blocks, but these are 2 x 3: try pc=jacobi, or store square ones
  [2]
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n' >swap.mtx
  $ tessera solve swap.mtx --block 1 --device ref --method gmres --pc jacobi
  2> tessera: pc=jacobi: the diagonal of row 0 is 0: try pc=ilut,pivot=0.1, or auto
  [2]
  $ tessera solve swap.mtx --block 1 --device ref --method gmres --pc ilu0
  2> tessera: pc=ilu0: no pivot in column 0 of the diagonal block of block row 0 (rows 0..0), the largest is 0; try pc=ilut,pivot=0.1, scale=match, or auto
  [2]
  $ tessera solve swap.mtx --device ref --method dgmres --options deflate=20
  2> tessera: deflate=20 is more than half of restart=30: make one smaller, or the other larger
  [2]
  $ tessera solve swap.mtx --device ref --method cg --options pivot=0.1
  2> tessera: cg with pc=bjacobi does not take 'pivot', which is for pc=ilut: leave it out
  [2]
  $ tessera solve swap.mtx --device ref --method cg --options side=left
  2> tessera: cg: side=left: its preconditioner has no side; leave side out, or choose one of bicgstab and gmres
  [2]
  $ tessera solve swap.mtx --block 1 --device ref --method cg --pc jacobi
  2> tessera: pc=jacobi: the diagonal of row 0 is 0: try gmres with pc=ilut,pivot=0.1, or auto
  [2]
  $ printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >b2.mtx
  $ tessera solve swap.mtx --rhs b2.mtx --block 1 --device ref --method lsqr | grep -E '^(solver|result)' | sed 's/ = .* after/ = ... after/'
  solver    lsqr:pc=none, b is b2.mtx
  result    CONVERGED: |b - Ax|/|b| = ... after 1 iteration
  $ tessera solve gen:cdr:n=3 --device ref --method cg --pc ilut
  2> tessera: cg needs a symmetric preconditioner, which pc=ilut is not: try pc=ick, or gmres
  [2]
  $ tessera solve gen:elasticity:n=3 --device ref --pc ssor --options schedule=colors,tol=1e-3 | grep -c CONVERGED
  1
  $ tessera solve gen:elasticity:n=3 --device ref --pc ilu0 --options schedule=colors,tol=1e-3 | grep -c CONVERGED
  1

Of a matrix that is not square the least |b - Ax| is found, and how nearly is said.

  $ tessera solve gen:random:rows=6,cols=3 --rhs x6.mtx --device ref | grep -E '^(solver|result|normal)' | sed 's/[0-9.e-]* |A||r|/... |A||r|/;s/b| = [^ ]*/b| = .../'
  solver    lsqr:scale=equilibrate, b is x6.mtx
  result    LEAST_SQUARES: no x solves it within rounding: |b - Ax|/|b| = ... is the smallest, |A'r| = ... |A||r| after 4 iterations
  normal    |A'r| = ... |A||r|, recomputed

Without a method and a preconditioner, solvers are tried until one solves the system.

  $ tessera solve gen:cdr:n=4 --device ref | grep -E '^(tried|solver|result)' | sed 's/ = .* after/ = ... after/'
  solver    bicgstab:pc=ilu0, b is the generator's
  result    CONVERGED: |b - Ax|/|b| = ... after 5 iterations
  $ tessera solve gen:elasticity:n=4 --device ref --max-iterations 3 >/dev/null
  2> tessera: not solved: the number of iterations of auto is spent (attempts: 1, iterations: 3); the best x has |b - Ax|/|b| = 1: allow more by max=
  [1]
  $ tessera solve gen:elasticity:n=4 --device ref --method auto --options budget=0 >/dev/null
  2> tessera: not solved: the time of auto is spent (attempts: 0, iterations: 0); the best x has |b - Ax|/|b| = 1: allow more by budget=
  [1]
  $ tessera solve gen:elasticity:n=4 --device ref --options memory=1,budget=0 >/dev/null
  2> tessera: not solved: the time of auto is spent (attempts: 0, iterations: 0); the best x has |b - Ax|/|b| = 1: allow more by budget=
  [1]
  $ tessera solve gen:elasticity:n=4 --device ref --method auto --pc ilu0
  2> tessera: auto: unknown key 'pc' (one of: tol, atol, max, budget, memory)
  [2]
  $ tessera solve gen:elasticity:n=4 --device ref --method direct
  2> tessera: KLU (SuiteSparse) is not here: install it (Debian: libklu1 or libsuitesparse-dev), or choose another method
  [2]

A file that cannot be made is found out before the work, not after it.

  $ tessera solve tridiagonal.mtx --device ref --history no/such/h.csv
  2> tessera: no/such/h.csv: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera solve tridiagonal.mtx --device ref --out .
  2> tessera: .: cannot be written: Is a directory; name another file
  [1]

Ctrl-C ends a solve with the best x so far, which is written.

  $ timeout --foreground -s INT 1 tessera solve gen:elasticity:n=24 --device ref --tol 0 --out best.mtx 2>/dev/null | grep -o '^result    CANCELLED'; test -s best.mtx && echo written
  result    CANCELLED
  written

A named format or kernel runs in every product, or is refused.

  $ tessera solve gen:stencil27:n=6,b=3 --method cg --format symmetric -v 2>&1 | grep -o 'plan: device=cpu format=symmetric kernel=symmetric_spmv_3x3'
  plan: device=cpu format=symmetric kernel=symmetric_spmv_3x3
  $ tessera solve gen:stencil27:n=6,b=3 --method cg --format nosuch
  2> tessera: device 'cpu' has no format 'nosuch' (one of: bsr, symmetric, fbcsr)
  [2]
  $ tessera solve gen:stencil27:n=6,b=3 --method cg --params C=3
  2> tessera: solve: --params does nothing without --kernel or --format
  [2]

What was printed as the solver is typed back with --solver.

  $ tessera solve gen:cdr:n=5,b=2 --device ref --method gmres --pc ilu0 --options restart=9 --tol 1e-6 --json | grep '"solver"'
    "solver": "gmres:pc=ilu0,tol=1e-06,restart=9",
  $ tessera solve gen:cdr:n=5,b=2 --device ref --solver gmres:pc=ilu0,tol=1e-06,restart=9 --json | grep -E '"(solver|reason)"'
    "solver": "gmres:pc=ilu0,tol=1e-06,restart=9",
    "reason": "CONVERGED",
  $ tessera solve gen:cdr:n=5,b=2 --device ref --solver "$(tessera solve gen:cdr:n=5,b=2 --device ref --json | grep -oP '"solver": "\K[^"]*')" --json | grep -c CONVERGED
  1
  $ tessera report gen:cdr:n=5,b=2 --device ref --solver bicgstab:pc=jacobi -o r.html --json | grep '"solver"'
      "solver": "bicgstab:pc=jacobi",
  $ tessera solve gen:cdr:n=5,b=2 --device ref --solver cg --pc ilu0
  2> tessera: solve: --pc does nothing with --solver: leave one out
  [2]
  $ tessera solve gen:cdr:n=5,b=2 --device ref --solver cgg
  2> tessera: unknown method 'cgg' (nearest: 'cg')
  [2]

Coordinates and modes of the wrong size.

  $ tessera solve gen:elasticity:n=3 --device ref --method cg --pc amg --coordinates x6.mtx
  2> tessera: --coordinates: x6.mtx has 6 numbers and must have 144: 3 for each of the 48 block rows, one block row after the other
  [2]
  $ tessera solve gen:elasticity:n=3 --device ref --method cg --pc amg --modes x6.mtx --coordinates x6.mtx
  2> tessera: solve: --coordinates does nothing with --modes: leave one out
  [2]
  $ tessera solve gen:elasticity:n=3 --device ref --method cg --pc amg --modes x6.mtx
  2> tessera: --modes: x6.mtx has 6 numbers, which are not columns of 144: a mode must have one number for each of the matrix's rows
  [2]
  $ tessera solve gen:elasticity:n=3 --device ref --method cg --pc amg --modes missing.npy
  2> tessera: missing.npy: No such file or directory; name a file of one vector: .mtx, .npy or text
  [2]
