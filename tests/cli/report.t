A page about a matrix. Its size depends on the machine; its content is report_page.py's.
  $ tessera report gen:stencil7:n=4 -o page.html | sed 's/[0-9.]* kB/SIZE/'
  page.html: SIZE
  $ grep -c '<svg' page.html
  8
  $ grep -o '<h2>[^<]*' page.html
  <h2>Pattern
  <h2>Rows
  <h2>Blocks
  <h2>The plan
  <h2>The solve
  <h2>Where the time went
  <h2>The machine
  $ tessera report gen:stencil7:n=4 --no-solve -o - | grep -o 'Nothing was solved[^<]*'
  Nothing was solved: --no-solve.
  $ tessera report gen:random:rows=40,cols=7,avg=3 -o - | grep -o 'rectangular'
  rectangular
  $ tessera report gen:stencil7:n=3 --json --no-solve -o page.html | grep -E '"output"|"nnz"|"solve"'
    "output": "page.html",
      "nnz": 1215,
    "solve": null

Options of the solve are those of `tessera solve`.
  $ tessera report gen:stencil7:n=4 --method cg --pc ssor --tol 1e-3 -o - | grep -c 'cg:pc=ssor,tol=0.001'
  3
  $ tessera report gen:stencil7:n=4 --method cgs -o page.html
  2> tessera: unknown method 'cgs' (nearest: 'cg')
  [2]
  $ tessera report gen:stencil7:n=4 --method cg --max-iterations 1 -o - | grep -o '<p>ITERATION_LIMIT'
  <p>ITERATION_LIMIT

A file is written whole or not at all.
  $ tessera report gen:stencil7:n=4
  2> tessera: report: --out is missing: tessera report gen:stencil7:n=4 -o report.html
  [2]
  $ tessera report gen:stencil7:n=4 -o nowhere/page.html
  2> tessera: nowhere/page.html: cannot be created: No such file or directory; make its directory, or name another file
  [1]
  $ tessera report gen:stencil7:n=4 -o .
  2> tessera: .: cannot be written: Is a directory; name another file
  [1]
  $ tessera report gen:stencil7:n=4 --no-solve -o /dev/full
  2> tessera: /dev/full: cannot be written: No space left on device; name another file
  [1]
  $ tessera report gen:stencil7:n=4 --no-solve -o - >/dev/full
  2> tessera: standard output: cannot be written: No space left on device; name a file in the place of -
  [1]
  $ tessera report gen:stencil7:n=4 --json -o -
  2> tessera: report: --json prints to standard output, as --out - does: name a file for one of them
  [2]
  $ echo old >kept.html; tessera report none.mtx -o kept.html; cat kept.html
  old
  2> tessera: none.mtx: No such file or directory; INPUT is a file, - or gen:NAME ('tessera help generate' lists the names)
  $ umask 027; tessera report gen:stencil7:n=3 --no-solve -o fresh.html >/dev/null; stat -c %a fresh.html
  640
  $ chmod 604 kept.html; ln -s kept.html link.html; tessera report gen:stencil7:n=3 --no-solve -o link.html >/dev/null
  $ stat -c '%a %F' kept.html link.html; head -n 1 kept.html
  604 regular file
  777 symbolic link
  <!DOCTYPE html>
  $ ls | grep 'html\.' || echo nothing is left behind
  nothing is left behind
