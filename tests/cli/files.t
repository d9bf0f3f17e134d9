Files that are no matrix: one sentence with the place, exit status 2.

  $ tessera spmv missing.mtx
  2> tessera: missing.mtx: No such file or directory
  [2]
  $ tessera spmv .
  2> tessera: .: is a directory, not a file
  [2]
  $ tessera spmv empty.mtx
  2> tessera: empty.mtx:1: the file is empty
  [2]
  $ tessera spmv garbage.bin
  2> tessera: garbage.bin:1: not a Matrix Market file: it must start with %%MatrixMarket
  [2]
  $ tessera spmv truncated.mtx
  2> tessera: truncated.mtx:3: the file ends after 1 of the 2 entries that line 2 announces
  [2]
  $ tessera spmv outside.mtx
  2> tessera: outside.mtx:3: column 4 is outside 1..3
  [2]
  $ tessera spmv word.mtx
  2> tessera: word.mtx:3: column 'one' is not a whole number
  [2]
  $ tessera spmv complex.mtx
  2> tessera: complex.mtx:1: complex matrices are not supported (real, integer and pattern are)
  [2]
  $ gzip -c tridiagonal.mtx | head -c 60 >short.mtx.gz
  $ tessera spmv short.mtx.gz
  2> tessera: short.mtx.gz:1: the gzip data ends early
  [2]

Files that are.

  $ tessera spmv blocks2.mtx --device ref | sed 's/^time .*/time/'
  matrix   6 x 6, 16 non-zeros, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 2.7e-15)
  $ tessera spmv blocks2.mtx --block 2 --device ref | head -n 1
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  $ gzip -k tridiagonal.mtx
  $ tessera spmv tridiagonal.mtx.gz --device ref | head -n 1
  matrix   5 x 5, 13 non-zeros, f64
  $ tessera spmv pattern.mtx --type f32 --device ref | head -n 1
  matrix   3 x 4, 4 non-zeros, f32

"-" is standard input, plain or compressed; what is wrong there is named the same way.

  $ gzip -c tridiagonal.mtx | tessera info - | head -3
  -
  
  size       5 x 5, 13 non-zeros, f64
  $ head -c 40 word.mtx | tessera spmv -
  2> tessera: /dev/stdin:1: symmetry 'ge' is none of general, symmetric, skew-symmetric
  [2]
