The reference is always there; the others depend on the machine, but are always named.

  $ tessera devices | grep '^ref'
  ref           1 thread, plain loops
  $ tessera devices | cut -c 1-4 | sort -u | head -n 4
  cpu 
  cuda
  prof
  ref 
  $ tessera devices --json | grep -A 3 '"name": "ref"'
        "name": "ref",
        "available": true,
        "description": "1 thread, plain loops"
      },
  $ tessera devices --json | grep -E '"available": (true|false),' | head -n 3 | wc -l
  3

A list of parts lacks a number; an instruction set is misspelt. Neither is guessed.

  $ tessera spmv gen:stencil7:n=4,b=2 --device cpu:1,
  2> tessera: device 'cpu:1,': part 1 has no number: write one before and after every comma
  [2]
  $ TESSERA_ISA=avx51 tessera spmv gen:stencil7:n=4,b=2
  2> tessera: TESSERA_ISA=avx51 is not one of scalar, neon, sve, avx2, avx512
  [2]
  $ for device in ref cpu:1,1; do tessera bench gen:stencil7:n=4,b=2 --device $device --list; done
  (what a plan chooses)
  (what a plan chooses)
