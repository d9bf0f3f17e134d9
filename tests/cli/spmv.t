Everything but the measured line is exact. The reference agrees with itself to the last bit.

  $ tessera spmv gen:stencil27:n=4,b=3 --device ref | sed 's/^time .*/time/'
  matrix   192 x 192, 1 000 blocks of 3 x 3, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 3.7e-14)
  $ tessera spmv gen:trefethen:n=20 --device ref --type f32 | sed 's/^time .*/time/'
  matrix   20 x 20, 158 non-zeros, f32
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 2.6e-06)
  $ tessera spmv gen:elasticity:n=3 --device ref --json | sed -E 's/("(seconds|gb_per_s|gflop_per_s)": ).*,/\1.../'
  {
    "device": "ref",
    "format": "bsr",
    "kernel": "ref",
    "params": "",
    "type": "f64",
    "rows": 144,
    "cols": 144,
    "block_rows": 3,
    "block_cols": 3,
    "blocks": 700,
    "bytes": 55700.0,
    "seconds": ...
    "gb_per_s": ...
    "gflop_per_s": ...
    "error": 0.0,
    "error_bound": 3.68594044176e-14,
    "correct": true
  }

Other blocks than the matrix came with, and rectangular ones.

  $ tessera spmv gen:stencil7:n=3,b=2 --block 4x3 --device=ref | sed 's/^time .*/time/'
  matrix   54 x 54, 102 blocks of 4 x 3, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 1.4e-14)
  $ tessera spmv gen:stencil7:n=3,b=2 --block 1 --device=ref | sed 's/^time .*/time/'
  matrix   54 x 54, 540 non-zeros, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 7.1e-15)

Blocks that the scalars have are used inside a plan. Groups that follow each other need no permutation.

  $ tessera spmv gen:stencil27:n=4,b=3 --block 1 --device ref --regroup on | sed 's/^time .*/time/'
  matrix   192 x 192, 9 000 non-zeros, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  regroup  groups of 3 unknowns with nearly the same columns: renumbered they are 100 % full blocks of 3 x 3, which move 0.087 MB in an SpMV with the permutation of x and y, 0.78 times CSR's
  time
  result   correct: largest error 0 of |A||x| (rounding allows 3.7e-14)
  $ tessera spmv gen:stencil27:n=4,b=3 --block 1 --device ref --regroup on --explain | grep -A 1 '^regroup ' | tail -1
          the groups follow each other: nothing is permuted
  $ tessera spmv gen:stencil27:n=4,b=3 --block 1 --device ref --regroup on --json | grep -A 3 regrouped
    "regrouped": {
      "block": 3,
      "permuted_bytes": 0.0,
      "moves": 0.0,
  $ tessera spmv gen:stencil7:n=4,b=1 --device ref --regroup on
  2> tessera: regroup: no order of the unknowns was found that makes blocks which pay: leave --regroup on out, and a plan takes A as it is
  [2]
  $ tessera spmv gen:random:rows=30,cols=20 --device ref --regroup on
  2> tessera: regroup: 30 x 20: one order of rows and columns needs a square matrix: use --regroup off
  [2]
  $ tessera spmv gen:stencil7:n=4 --regroup perhaps
  2> tessera: --regroup 'perhaps' is none of auto, on, off
  [2]
  $ tessera solve gen:elasticity:n=3 --block 1 --device ref --regroup on --pc jacobi | grep -E '^(regroup|solver|result)'
  regroup   groups of 3 unknowns with nearly the same columns: renumbered they are 100 % full blocks of 3 x 3, which move 0.0615 MB in an SpMV with the permutation of x and y, 0.78 times CSR's
  solver    cg:pc=jacobi, b is the generator's
  result    CONVERGED: |b - Ax|/|b| = 7.21e-09 after 23 iterations

The default device is correct too, whichever it is.

  $ tessera spmv gen:powerlaw:rows=300,avg=4,b=3,long=2,length=200 --json | grep correct
    "correct": true

Vectors from and to files: the product can be checked by hand.

  $ tessera spmv blocks2.mtx --x x6.mtx --out y.mtx --device ref >/dev/null && cat y.mtx
  %%MatrixMarket matrix array real general
  % written by Tessera 0.2.0
  6 1
  6
  8.75
  10
  11
  23
  -14.994
  $ tessera spmv tridiagonal.mtx --x x6.mtx --device ref
  2> tessera: x6.mtx has 6 elements, the matrix 5 columns: name a vector of 5
  [2]
  $ tessera spmv blocks2.mtx --out no/such/y.mtx --device ref >/dev/null
  2> tessera: no/such/y.mtx: cannot be created: No such file or directory; make its directory, or name another file
  [1]

NumPy's format, and standard output, where the report goes to stderr.

  $ tessera spmv blocks2.mtx --x x6.mtx --out y.npy --device ref >/dev/null && od -A n -c y.npy | head -n 5
   223   N   U   M   P   Y 001  \0   v  \0   {   '   d   e   s   c
     r   '   :       '   <   f   8   '   ,       '   f   o   r   t
     r   a   n   _   o   r   d   e   r   '   :       F   a   l   s
     e   ,       '   s   h   a   p   e   '   :       (   6   ,   )
     ,       }                                                    
  $ tessera spmv blocks2.mtx --x x6.mtx --out - --device ref 2>report
  6
  8.75
  10
  11
  23
  -14.994
  $ sed 's/^time .*/time/' report
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 2.7e-15)
  $ tessera spmv blocks2.mtx --x x6.mtx --device ref --type f32 --out x.npy >/dev/null && tessera spmv blocks2.mtx --x x.npy --device ref --out - 2>/dev/null | head -n 2
  23.001499891281128
  15.752999782562256
  $ tessera spmv blocks2.mtx --out - --device ref --json 2>/dev/null | wc -l
  6
  $ tessera spmv tridiagonal.mtx --x y.npy --device ref
  2> tessera: y.npy has 6 elements, the matrix 5 columns: name a vector of 5
  [2]
  $ tessera spmv blocks2.mtx --x none.npy --device ref
  2> tessera: none.npy: No such file or directory; name a file of one vector: .mtx, .npy or text
  [2]

  $ tessera spmv gen:stencil27:n=6,b=3 --format symmetric --json | grep -o '"format": "[a-z]*"\|"correct": [a-z]*'
  "format": "symmetric"
  "correct": true
  $ tessera spmv gen:stencil27:n=6,b=3 --device ref --format nosuch
  2> tessera: device 'ref' has no format 'nosuch', only 'bsr'
  [2]

Several parts multiply in one of several forms, whose results differ by rounding.

  $ for form in halo whole shuffle shuffle:lambda=3; do tessera spmv gen:powerlaw:rows=60,avg=4,b=2,long=2,length=40 --device cpu:1,1,1 --form $form | grep -c '^result   correct'; done
  1
  1
  1
  1
  $ tessera spmv gen:stencil7:n=3,b=2 --device cpu:1,1 --form shufle
  2> tessera: part 0 of 2: unknown product form 'shufle' (nearest: 'shuffle')
  [2]

Rows that overflow, or that meet NaN or an infinity in A or x, are right when the reference's are neither finite.

  $ awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n3 16 48"; for (i = 1; i <= 3; i++) for (j = 1; j <= 16; j++) print i, j, ((i + j) % 3 ? "" : "-") "1.7e308" }' >over.mtx
  $ tessera spmv over.mtx --device cpu:1 --out y.npy | grep -A 1 '^result'
  result   correct: largest error 0 of |A||x| (rounding allows 8e-15)
           3 of y's rows are NaN or infinite, as A and x make them
  $ awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n4 3 5\n1 1 1\n2 2 -1\n3 3 2\n4 3 2\n4 2 -1" }' >meet.mtx
  $ for device in ref cpu:1; do for block in 1 2; do tessera spmv meet.mtx --x y.npy --device $device --block $block --json | grep -E '"(error|correct)"'; done; done
    "error": 0.0,
    "correct": true
    "error": 0.0,
    "correct": true
    "error": 0.0,
    "correct": true
    "error": 0.0,
    "correct": true
  $ tessera bench over.mtx --device cpu:1 --few --seconds 0.01 --json | grep -oE '"outcome": "(wrong|good)"' | uniq
  "outcome": "good"

Some formats store zeros beside A's entries, and multiply them too.

  $ awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n64 16 79"; for (i = 1; i <= 64; i++) for (j = 1; j <= (i == 32 ? 16 : 1); j++) print i, j, (i == 32 ? "1.7e308" : 1) }' >row.mtx
  $ awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n64 64 96"; for (i = 1; i < 64; i += 2) print i " " i " 1\n" i " " i + 1 " 2\n" i + 1 " " i " 3" }' >corners.mtx
  $ tessera spmv row.mtx --device cpu:1 --block 1 --out x.npy >/dev/null
  $ for format in bsr 'fbcsr --params shapes=2x2@0.5'; do tessera spmv corners.mtx --x x.npy --device cpu:1 --block 1 --format $format | grep -A 2 '^result'; done
  result   correct: largest error 0 of |A||x| (rounding allows 1.8e-15)
           1 of y's rows are NaN or infinite, as A and x make them
  result   correct: largest error 0 of |A||x| (rounding allows 1.8e-15)
           2 of y's rows are NaN or infinite, as A and x make them
           1 of them by zeros that the format stores beside A's entries

JSON has no NaN, and names of files may be any bytes.

  $ name=$(printf 'b\377\303\244.tess'); tessera convert meet.mtx "$name" --json | head -n 2
  {
    "output": "b\\xffä.tess",
