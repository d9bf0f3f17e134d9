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
  2> tessera: no/such/directory/a.mtx: cannot be created: No such file or directory
  [1]
  $ tessera convert blocks2.mtx a.xyz
  2> tessera: a.xyz: the name must end with .mtx, .mtx.gz or .tess
  [2]
  $ ls a.xyz
  2> ls: cannot access 'a.xyz': No such file or directory
  [2]
  $ tessera convert truncated.mtx g.mtx
  2> tessera: truncated.mtx:3: the file ends after 1 of the 2 entries that line 2 announces
  [2]
  $ ls g.mtx
  2> ls: cannot access 'g.mtx': No such file or directory
  [2]
  $ tessera convert blocks2.mtx
  2> tessera: convert: an operand is missing; usage: tessera convert INPUT OUTPUT
  [2]
