A regular file is replaced, a symbolic link stays and leads to the new file, a device or FIFO is written in place.

  $ for link in y.npy h.csv p.svg; do echo old >old.$link && ln -s old.$link $link; done && mkfifo fifo && ln -s /dev/null null.mtx
  $ tessera solve gen:stencil7:n=4,b=2 --method cg --out y.npy --history h.csv --plot p.svg >/dev/null && ls -F -d y.npy h.csv p.svg && head -c 6 old.y.npy | tail -c 5 && echo && head -n 1 old.h.csv && head -c 4 old.p.svg && echo
  h.csv@
  p.svg@
  y.npy@
  NUMPY
  iteration,residual
  <svg
  $ for command in spmv solve; do cat fifo | wc -l & tessera $command gen:stencil7:n=4,b=2 --out fifo >/dev/null; wait; done
  128
  128
  $ tessera convert gen:stencil7:n=4,b=2 null.mtx && ls -F -d fifo null.mtx
  null.mtx: 128 x 128, 352 blocks of 2 x 2, f64
  fifo|
  null.mtx@
  $ tessera predict gen:stencil7:n=4,b=2 --map null.mtx >/dev/null && tessera report gen:stencil7:n=4,b=2 --no-solve -o null.mtx | sed 's/: .*//'
  null.mtx
  $ tessera generate stencil7:n=4,b=2 null.mtx --rhs fifo >/dev/null & cat fifo | wc -l; wait
  128
  $ mkdir kept && ln -s kept/model.json m.json && tessera calibrate --device cpu:1 --blocks 1 --megabytes 1 --out m.json >/dev/null && ls -F -d m.json && grep -c '"tessera_model"' kept/model.json
  m.json@
  1

What cannot be written is said before the work begins, here before the input is looked for.

  $ for option in out history plot; do tessera solve missing.mtx --$option none/file; done
  2> tessera: none/file: cannot be created: No such file or directory; make its directory, or name another file
  2> tessera: none/file: cannot be created: No such file or directory; make its directory, or name another file
  2> tessera: none/file: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera spmv missing.mtx --out kept
  2> tessera: kept: cannot be written: Is a directory; name another file
  [1]
  $ tessera convert missing.mtx none/A.mtx
  2> tessera: none/A.mtx: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera generate stencil7:n=x none/A.mtx
  2> tessera: none/A.mtx: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera generate stencil7:n=x A.mtx --rhs none/b
  2> tessera: none/b: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera predict missing.mtx --map none/map.svg
  2> tessera: none/map.svg: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera report missing.mtx -o none/page.html
  2> tessera: none/page.html: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera solve gen:stencil7:n=4,type=c64 --out x.txt
  2> tessera: x.txt: text of one number per line cannot hold c64: name a file with .mtx, .mtx.gz or .npy
  [2]

Two outputs have two names; a device may have both.

  $ tessera solve gen:stencil7:n=4,b=2 --device ref --out x.txt --history x.txt
  2> tessera: solve: two outputs cannot both be 'x.txt': name another file
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --device ref --plot - --history -
  2> tessera: solve: two outputs cannot both be '-': name another file
  [2]
  $ tessera generate stencil7:n=2 A.mtx --rhs A.mtx
  2> tessera: generate: two outputs cannot both be 'A.mtx': name another file
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --device ref --method cg --out /dev/null --history /dev/null | head -n 1
  matrix    128 x 128, 352 blocks of 2 x 2, f64

Data on standard output stand there alone.

  $ tessera predict gen:stencil7:n=4,b=2 --device cpu:1 --map - 2>/dev/null | head -c 4; echo
  <svg
  $ tessera calibrate --device cpu:1 --blocks 1 --megabytes 1 --out -
  2> tessera: standard output is no place for a model: name a file
  [2]
