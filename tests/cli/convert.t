Round trips through every format give the same bits.

  $ tessera convert blocks2.mtx a.tess --block 2
  a.tess: 6 x 6, 4 blocks of 2 x 2, f64, 512 B on disk
  $ tessera convert a.tess b.mtx.gz | sed 's/, [0-9]* B on disk//'
  b.mtx.gz: 6 x 6, 4 blocks of 2 x 2, f64
  $ tessera convert b.mtx.gz c.mtx --json | grep -v file_bytes
  {
    "output": "c.mtx",
    "type": "f64",
    "rows": 6,
    "cols": 6,
    "block_rows": 1,
    "block_cols": 1,
    "blocks": 16,
  }
  $ cat c.mtx
  %%MatrixMarket matrix coordinate real general
  % written by Tessera 0.2.0
  6 6 16
  1 1 4
  1 2 -1
  1 5 0.5
  1 6 0.25
  2 1 -1
  2 2 4
  2 5 -0.25
  2 6 0.5
  3 3 2
  3 4 1
  4 3 1
  4 4 2
  5 5 1
  5 6 3
  6 5 -3
  6 6 0.001
  $ tessera convert c.mtx d.tess --block 2 >/dev/null && cmp a.tess d.tess

The block size by detection, another precision.

  $ tessera convert blocks2.mtx e.tess --block auto
  e.tess: 6 x 6, 4 blocks of 2 x 2, f64, 512 B on disk
  $ tessera convert tridiagonal.mtx f.tess --type f32
  f.tess: 5 x 5, 13 non-zeros, f32, 436 B on disk

What cannot be written leaves nothing behind.

  $ tessera convert blocks2.mtx no/such/directory/a.mtx
  2> tessera: no/such/directory/a.mtx: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera convert blocks2.mtx a.xyz
  2> tessera: a.xyz: the name must end with .mtx, .mtx.gz or .tess
  [2]
  $ ls a.xyz
  2> ls: cannot access 'a.xyz': No such file or directory
  [2]
  $ tessera convert truncated.mtx g.mtx
  2> tessera: truncated.mtx:3: the file ends after 1 of the 2 entries that line 2 announces; mend it there, or fetch the file again
  [2]
  $ ls g.mtx
  2> ls: cannot access 'g.mtx': No such file or directory
  [2]
  $ tessera convert blocks2.mtx
  2> tessera: convert: an operand is missing; usage: tessera convert INPUT OUTPUT
  [2]

Without --block a .tess file gets the blocks that `info` recommends; text to text keeps every entry, zeros too.

  $ tessera convert blocks2.mtx h.tess
  h.tess: 6 x 6, 4 blocks of 2 x 2, f64, 512 B on disk
  $ tessera convert blocks2.mtx i.tess --block 1
  i.tess: 6 x 6, 16 non-zeros, f64, 512 B on disk
  $ tessera convert i.tess j.tess
  j.tess: 6 x 6, 16 non-zeros, f64, 512 B on disk
  $ tessera convert h.tess k.tess && cmp h.tess k.tess
  k.tess: 6 x 6, 4 blocks of 2 x 2, f64, 512 B on disk
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n1 2 0\n2 2 5\n' >zero.mtx
  $ tessera convert zero.mtx zero2.mtx && tail -n +3 zero2.mtx
  zero2.mtx: 2 x 2, 3 non-zeros, f64, 97 B on disk
  2 2 3
  1 1 4
  1 2 0
  2 2 5

"-" is standard output; what is said about it goes to stderr.

  $ tessera convert zero.mtx - 2>said
  %%MatrixMarket matrix coordinate real general
  % written by Tessera 0.2.0
  2 2 3
  1 1 4
  1 2 0
  2 2 5
  $ cat said
  -: 2 x 2, 3 non-zeros, f64
  $ tessera convert blocks2.mtx - 2>/dev/null | tessera convert - l.tess --block 2 >/dev/null && cmp a.tess l.tess
  $ tessera convert zero.mtx - >&-
  2> tessera: standard output: cannot be written: Bad file descriptor; name a file in the place of -
  [1]
  $ tessera convert zero.mtx - 2>/dev/null >/dev/full
  [1]

A symmetric matrix is written as one when asked, if it is.

  $ tessera convert tridiagonal.mtx s.mtx --symmetric && head -n 1 s.mtx && sed -n 3p s.mtx
  s.mtx: 5 x 5, 13 non-zeros, f64, 139 B on disk
  %%MatrixMarket matrix coordinate real symmetric
  5 5 9
  $ tessera convert tridiagonal.mtx t.mtx >/dev/null && tessera convert s.mtx u.mtx >/dev/null && cmp t.mtx u.mtx
  $ tessera convert blocks2.mtx s2.mtx --symmetric
  2> tessera: the matrix is not symmetric: a(1, 5) = 0.5, but a(5, 1) = 0 (counted from 1); write it as a general one
  [2]
  $ tessera convert pattern.mtx s2.mtx --symmetric
  2> tessera: a matrix of 3 x 4 is not symmetric: write it as a general one
  [2]
  $ tessera convert tridiagonal.mtx s.tess --symmetric
  2> tessera: s.tess: only Matrix Market files say that they are symmetric: a name with .mtx or .mtx.gz
  [2]
  $ ls s2.mtx s.tess
  2> ls: cannot access 's2.mtx': No such file or directory
  2> ls: cannot access 's.tess': No such file or directory
  [2]
