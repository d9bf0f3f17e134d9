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
