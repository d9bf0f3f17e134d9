No command: the overview, as bad usage. The rest of the list depends on what is built in.

  $ tessera | head -n 3
  usage: tessera COMMAND [OPTION...] [OPERAND...]
  
  Block-sparse matrices: what is in them, and products with them at the speed of memory.
  $ tessera >/dev/null
  [2]
  $ tessera help | head -n 1
  usage: tessera COMMAND [OPTION...] [OPERAND...]
  $ tessera --help | head -n 1
  usage: tessera COMMAND [OPTION...] [OPERAND...]
  $ tessera --version
  tessera 0.2.0

Mistakes are one sentence with the nearest right word.

  $ tessera spvm
  2> tessera: unknown command 'spvm' (nearest: 'spmv'); 'tessera help' lists them
  [2]
  $ tessera help spvm
  2> tessera: help: there is no command 'spvm'; 'tessera help' lists them
  [2]
  $ tessera spmv
  2> tessera: spmv: an operand is missing; usage: tessera spmv INPUT
  [2]
  $ tessera spmv gen:stencil7:n=2 surplus
  2> tessera: spmv: 'surplus' is one operand too many; usage: tessera spmv INPUT
  [2]
  $ tessera spmv --treads 3 gen:stencil7:n=2
  2> tessera: spmv: unknown option '--treads' (nearest: '--threads')
  [2]
  $ tessera spmv -q gen:stencil7:n=2
  2> tessera: spmv: unknown option '-q'; 'tessera help spmv' lists them
  [2]
  $ tessera spmv gen:stencil7:n=2 --threads
  2> tessera: --threads needs a value: --threads N
  [2]
  $ tessera spmv gen:stencil7:n=2 --threads 0
  2> tessera: --threads: 0 is outside 1..1024
  [2]
  $ tessera spmv gen:stencil7:n=2 --threads=many
  2> tessera: --threads: 'many' is not an integer in 1..1024
  [2]
  $ tessera spmv gen:stencil7:n=2 --json=yes
  2> tessera: --json takes no value: leave out '=yes'
  [2]
  $ tessera spmv gen:stencil7:n=2 --type f16
  2> tessera: --type: 'f16' is not f64, f32, c64 or c32
  [2]
  $ tessera spmv gen:stencil7:n=2 --block 3by3
  2> tessera: --block: '3by3' is not a block size such as 3, 2x4 or auto
  [2]
  $ tessera spmv gen:stencil7:n=2 --block 0
  2> tessera: --block: '0' is not a block size such as 3, 2x4 or auto
  [2]
  $ tessera spmv gen:stencil7:n=2 --device autom
  2> tessera: unknown device 'autom' (nearest: 'auto')
  [2]
  $ tessera spmv gen:stencil7:n=2 --device reff
  2> tessera: unknown device 'reff' (nearest: 'ref')
  [2]
  $ tessera spmv gen:stencil8:n=2
  2> tessera: unknown generator 'stencil8' (nearest: 'stencil7')
  [2]
  $ tessera spmv gen:stencil7:m=2
  2> tessera: gen:stencil7: unknown key 'm' (one of: n, nx, ny, nz, b, seed, type)
  [2]
  $ tessera spmv -- --json
  2> tessera: --json: No such file or directory; INPUT is a file, - or gen:NAME ('tessera help generate' lists the names)
  [2]

Output that cannot be written is a failure.

  $ tessera --version >/dev/full
  2> tessera: cannot write standard output: No space left on device
  [1]
  $ tessera devices --json >/dev/full
  2> tessera: cannot write standard output: No space left on device
  [1]
  $ tessera devices >&-
  2> tessera: cannot write standard output: Bad file descriptor
  [1]
  $ (sleep 0.2; tessera --version) | true
  2> tessera: cannot write standard output: Broken pipe
