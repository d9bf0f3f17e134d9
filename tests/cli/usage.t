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
  2> tessera: unknown command 'spvm' (nearest: 'spmv'); 'tessera help' lists them
  [2]
  $ tessera help spmv solve
  2> tessera: help: 'solve' is one operand too many; usage: tessera help [COMMAND]
  [2]
  $ for word in help --help; do tessera help $word | head -n 1; done
  usage: tessera COMMAND [OPTION...] [OPERAND...]
  usage: tessera COMMAND [OPTION...] [OPERAND...]
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

  $ tessera --version info
  2> tessera: --version takes nothing more: leave out 'info'
  [2]
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

An option that would do nothing is refused, not ignored.

  $ for option in '--link 300' '--sync 3' '--latency 1' '--partition cyclic' --shared; do tessera predict gen:stencil7:n=4,b=2 $option; done
  2> tessera: predict: --link does nothing without --devices or --map
  2> tessera: predict: --sync does nothing without --devices or --map
  2> tessera: predict: --latency does nothing without --devices or --map
  2> tessera: predict: --partition does nothing without --devices or --map
  2> tessera: predict: --shared does nothing without --devices or --map
  [2]
  $ tessera report gen:stencil7:n=4,b=2 -o r.html --no-solve --pc ilu0
  2> tessera: report: --pc does nothing with --no-solve: leave one out
  [2]
  $ tessera bench gen:stencil7:n=4,b=2 --few --all
  2> tessera: bench: --few does nothing with --all: leave one out
  [2]
  $ tessera bench gen:stencil7:n=4,b=2 --cg
  2> tessera: bench: --cg does nothing without --search
  [2]
  $ tessera bench gen:stencil7:n=4,b=2 --list --peers
  2> tessera: bench: --peers does nothing with --list: leave one out
  [2]
  $ tessera tune --show --effort measure
  2> tessera: tune: --effort does nothing with --show: leave one out
  [2]
  $ tessera calibrate --quick --blocks 3
  2> tessera: calibrate: --blocks does nothing with --quick: leave one out
  [2]
  $ tessera spmv gen:stencil7:n=4,b=2 --params depth=4
  2> tessera: spmv: --params does nothing without --kernel or --format
  [2]
  $ tessera spmv gen:stencil7:n=4,b=2 --explain --json
  2> tessera: spmv: --explain does nothing with --json: leave one out
  [2]
  $ tessera spmv gen:stencil7:n=4,b=2 --device cpu:2 --form whole
  2> tessera: form 'whole' says how several parts multiply, and device 'cpu' is one: leave form out, or take several, as in cpu:2,2
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --form whole
  2> tessera: form 'whole' says how several parts multiply, and device 'cpu' is one: leave form out, or take several, as in cpu:2,2
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --tol 1e-3 --options tol=1e-9
  2> tessera: auto: key 'tol' is given twice: leave one out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --pc ilu0 --options pc=jacobi
  2> tessera: cg: key 'pc' is given twice: leave one out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --max-iterations 9 --method cg --options max=3
  2> tessera: cg: key 'max' is given twice: leave one out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --method cg --options restart=9
  2> tessera: cg with pc=bjacobi does not take 'restart', which is for gmres, fgmres, dgmres: leave it out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --pc jacobi --options levels=2
  2> tessera: cg with pc=jacobi does not take 'levels', which is for pc=iluk, pc=ick: leave it out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --method gmres --pc ilu0 --options pivot=0.1
  2> tessera: gmres with pc=ilu0 does not take 'pivot', which is for pc=ilut: leave it out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --method cg --pc jacobi --options schedule=levels
  2> tessera: cg with pc=jacobi does not take 'schedule', which is for pc=ssor, pc=ilu0, pc=ic0, pc=iluk, pc=ick, pc=ilut, pc=amg: leave it out
  [2]
  $ tessera solve gen:stencil7:n=4,b=2 --options memory=0
  2> tessera: auto: memory=0 is outside 1e-06..1e+06
  [2]
  $ tessera spmv gen:stencil7:n=4,n=5
  2> tessera: gen:stencil7: key 'n' is given twice: leave one out
  [2]

Sizes that no machine has memory for are refused, or not needed.

  $ tessera spmv gen:stencil7:n=4,b=2 --block 3000
  2> tessera: --block: blocks of 3000 x 3000 are larger than the matrix, 128 x 128: choose smaller ones, or --block auto
  [2]
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2147483647 0\n' >wide.mtx && (ulimit -v 4000000; tessera info wide.mtx | grep -A 1 advice)
  advice     do not block
  because    the matrix has no entries
  $ awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n300000 2 300"; for (i = 0; i < 300; i++) print 1000 * i + 1, i % 2 + 1, 1 }' >tall.mtx && tessera info tall.mtx | grep -A 2 advice
  advice     do not block
  because    the matrix has no entries in most of its rows or columns
  $ (ulimit -v 4000000; tessera predict --map map.svg --block 1000 --device profile:h200 >/dev/null && head -c 4 map.svg && echo)
  <svg
  $ tessera predict --map map.svg --block 2000 --device profile:h200
  2> tessera: predict: --map without INPUT: --block must be in 1..1024
  [2]
