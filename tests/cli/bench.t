The reference backend has one kernel and no ceiling of its own; times are the only thing that varies.

  $ tessera bench gen:stencil27:n=3,b=2 --device ref --reps 2 | sed -E 's/(bsr ref) .*(0|[0-9]e)/\1 ... \2/'
  matrix   54 x 54, 343 blocks of 2 x 2, f64
  device   ref: 1 thread, plain loops
  product  spmv moves 13.3 kB
  
    kernel                                         time     GB/s  of read   GFLOP/s     error
  * bsr ref ... 0
  
  * what a plan takes without measuring; error in units of n eps |A||x|, at most 2
  $ tessera bench gen:stencil7:n=3,b=2 --device ref --reps 1 --json | grep -oE '"[a-zA-Z_]+":'
  "machine":
  "device":
  "processor":
  "system":
  "threads":
  "processors":
  "compiler":
  "tessera":
  "date":
  "read_GBps":
  "read_most_GBps":
  "matrix":
  "input":
  "precision":
  "rows":
  "cols":
  "block_height":
  "block_width":
  "blocks":
  "bytes":
  "flops":
  "product":
  "results":
  "device":
  "format":
  "kernel":
  "params":
  "precision":
  "threads":
  "seconds":
  "predicted_seconds":
  "GBps":
  "fraction_of_read":
  "update_seconds":
  "gflops":
  "error":
  "peer":
  "peer_version":
  "default":
  "outcome":
  "reason":
  "regrouped":
  "search":
  $ tessera bench gen:stencil7:n=3,b=2 --device ref --reps 1 --op spmv_transpose --type f32 --json | grep -E '"(outcome|precision|product)"'
      "precision": "f32",
    "product": "spmv_transpose",
        "precision": "f32",
        "outcome": "good",
  $ tessera bench gen:stencil7:n=3,b=2 --device ref --reps 1 --op spmm:3 --json | grep -E '"(outcome|error|product)"'
    "product": "spmm:3",
        "error": 0.0,
        "outcome": "good",
  $ tessera bench gen:stencil7:n=3 --device ref --list
  (what a plan chooses)

Mistakes.

  $ tessera bench gen:stencil7:n=3 --device ref --kernel fast
  2> tessera: nothing to measure: device 'ref' has no kernel 'fast', only 'ref'
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --params nonsense
  2> tessera: nothing to measure: device 'ref': its kernel takes no parameters, got 'nonsense': leave them out
  [2]
  $ tessera bench gen:stencil7:n=3 --device cpu:1 --params nonsense
  2> tessera: nothing to measure: device 'cpu': kernels take no parameters, got 'nonsense': leave them out
  [2]
  $ tessera bench gen:stencil7:n=3 --device cpu:1 --reps 1 --params ';nonsense' | tail -3 | cut -c 1-60
    nonsense                                 FAILED: device 'c
  
  * what a plan takes without measuring; error in units of n e
  2> tessera: nonsense: device 'cpu': kernels take no parameters, got 'nonsense': leave them out
  $ tessera bench gen:stencil7:n=3 --device cpu:1 --list --params nonsense
  2> tessera: bench: --params does nothing with --list: leave one out
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --op spmm:0
  2> tessera: --op 'spmm:0' is none of spmv, spmv_transpose, spmm:K (K=1..1024)
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --op dot
  2> tessera: --op 'dot' is none of spmv, spmv_transpose, spmm:K (K=1..1024)
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --reps 0
  2> tessera: --reps: 0 is outside 1..1000000
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --seconds -1
  2> tessera: --seconds: -1 is outside 0..86400
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --cg
  2> tessera: bench: --cg does nothing without --search
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --peers --op spmm:4
  2> tessera: bench: --peers know no spmm:4: leave out --peers, or --op
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --reps 1 --seconds 2
  2> tessera: bench: --seconds does nothing with --reps: leave one out
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --list --regroup
  2> tessera: bench: --regroup does nothing with --list: leave one out
  [2]
  $ tessera bench gen:stencil7:n=3 --device ref --peers --type f32
  2> tessera: the peers take f64 matrices of whole blocks only, and this is f32 81 x 81 in blocks of 3 x 3: leave out --peers, or choose --type and --block
  [2]
  $ TESSERA_PEERS=nowhere tessera bench gen:stencil7:n=3 --device ref --peers
  2> tessera: no peers in nowhere: No such file or directory (./run bench builds them)
  [2]

A peer with a wrong result is reported, one that does not start is skipped.

  $ TESSERA_PEERS=. tessera bench gen:stencil7:n=3,b=2 --device ref --peers --reps 1 | grep '^-'
  - mute                                     skipped: its adapter left before it said its name
  - zero 1.0 dense                           WRONG: the result differs from ref's
  - zero 1.0 sparse                          skipped: it has none
  $ TESSERA_PEERS=. tessera bench gen:stencil7:n=3,b=2 --device ref --peers --reps 1 >/dev/null

Every kernel of the default device is right, whichever it is.

  $ tessera bench gen:powerlaw:rows=300,avg=4,b=3,long=2,length=200 --reps 1 --json | grep outcome | sort -u
        "outcome": "good",
  $ tessera bench gen:stencil7:n=4,b=2 --kernel no_such_kernel 2>&1 | sed 's/.*no_such_kernel.*/no such kernel/'
  no such kernel
  $ tessera bench gen:stencil7:n=4,b=2 --device cpu:1 --reps 1 --search --json | grep -cE '"(spmvs|cg_seconds|cg_predicted_seconds)"'
  3
  $ tessera bench gen:stencil7:n=4,b=2 --device cpu:1 --reps 1 --search | grep -c "^a search takes"
  1

A plan that permutes inside takes part, verified like the others.

  $ tessera bench gen:stencil27:n=4,b=3 --block 1 --device ref --regroup --reps 1 | grep -oE "regrouped: bsr ref"
  regrouped: bsr ref
