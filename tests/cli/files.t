Files that are no matrix: one sentence with the place, exit status 2.

  $ tessera spmv missing.mtx
  2> tessera: missing.mtx: No such file or directory; INPUT is a file, - or gen:NAME ('tessera help generate' lists the names)
  [2]
  $ tessera spmv .
  2> tessera: .: is a directory, not a file; INPUT is a file, - or gen:NAME ('tessera help generate' lists the names)
  [2]
  $ tessera spmv empty.mtx
  2> tessera: empty.mtx:1: the file is empty; mend it there, or fetch the file again
  [2]
  $ tessera spmv garbage.bin
  2> tessera: garbage.bin:1: not a Matrix Market file: it must start with %%MatrixMarket; mend it there, or fetch the file again
  [2]
  $ tessera spmv truncated.mtx
  2> tessera: truncated.mtx:3: the file ends after 1 of the 2 entries that line 2 announces; mend it there, or fetch the file again
  [2]
  $ tessera spmv outside.mtx
  2> tessera: outside.mtx:3: column 4 is outside 1..3; mend it there, or fetch the file again
  [2]
  $ tessera spmv word.mtx
  2> tessera: word.mtx:3: column 'one' is not a whole number; mend it there, or fetch the file again
  [2]
  $ gzip -c tridiagonal.mtx | head -c 60 >short.mtx.gz
  $ tessera spmv short.mtx.gz
  2> tessera: short.mtx.gz:1: the gzip data ends early; mend it there, or fetch the file again
  [2]
  $ tessera convert tridiagonal.mtx piped.tess >/dev/null; cat piped.tess | tessera info -
  2> tessera: /dev/stdin: .tess cannot be read from a pipe or gzip, nor where its first 8 bytes are damaged: write it to a file, or convert it to .mtx; mend it there, or fetch the file again
  [2]
  $ gzip -c piped.tess >packed.tess.gz; tessera info packed.tess.gz
  2> tessera: packed.tess.gz: .tess cannot be read from a pipe or gzip, nor where its first 8 bytes are damaged: write it to a file, or convert it to .mtx; mend it there, or fetch the file again
  [2]

Files that are.

  $ tessera spmv blocks2.mtx --device ref | sed 's/^time .*/time/'
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  device   ref: 1 thread, plain loops
  kernel   bsr ref
  time
  result   correct: largest error 0 of |A||x| (rounding allows 2.7e-15)
  $ tessera spmv blocks2.mtx --block 2 --device ref | head -n 1
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  $ tessera spmv blocks2.mtx --block 1 --device ref | head -n 1
  matrix   6 x 6, 16 non-zeros, f64
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
  2> tessera: /dev/stdin:1: symmetry 'ge' is none of general, symmetric, skew-symmetric; mend it there, or fetch the file again
  [2]

Every command takes a Matrix Market file with the blocks that `info` recommends; a solver only square ones.

  $ tessera info blocks2.mtx --json | grep -A 2 '"recommended"'
    "recommended": {
      "rows": 2,
      "cols": 2,
  $ for command in spmv solve tune bench; do tessera $command blocks2.mtx --device ref 2>&1 | grep -m 1 'blocks of'; done
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  matrix    6 x 6, 4 blocks of 2 x 2, f64
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  $ tessera predict blocks2.mtx --device cpu:1 | head -n 1
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  $ cat blocks2.mtx | tessera spmv - --device ref | head -n 1
  matrix   6 x 6, 4 blocks of 2 x 2, f64
  $ tessera generate random:rows=60,cols=60,count=4,r=1,c=8,seed=3 wide.mtx >/dev/null && tessera spmv wide.mtx --device ref | head -n 1
  matrix   60 x 480, 240 blocks of 1 x 8, f64
  $ tessera solve wide.mtx --device ref --method lsqr --max-iterations 1 2>/dev/null | head -n 1
  matrix    60 x 480, 1 920 non-zeros, f64
  $ tessera spmv gen:trefethen:n=20 --device ref | head -n 1
  matrix   20 x 20, 158 non-zeros, f64
