The cache of compiled kernels, in a directory of its own. Other files there are left alone.

  $ TESSERA_CACHE=kernels tessera cache
  0 kernels, 0.0 kB in kernels
  $ mkdir kernels; echo mine >kernels/notes.txt; echo bad >kernels/0123456789abcdef-13.0.cubin
  $ TESSERA_CACHE=kernels tessera cache list
       0.0 kB  damaged     0123456789abcdef-13.0.cubin
  1 kernel, 0.0 kB in kernels
  $ TESSERA_CACHE=kernels tessera cache list --json
  {
    "directory": "kernels",
    "kernels": [
      {
        "file": "0123456789abcdef-13.0.cubin",
        "kernel": "",
        "bytes": 4,
        "state": "damaged"
      }
    ]
  }
  $ TESSERA_CACHE=kernels tessera cache clear
  1 kernel removed
  $ ls kernels
  notes.txt
  $ TESSERA_CACHE=kernels tessera cache clear --json
  {
    "removed": 0
  }
  $ tessera cache list --arch 90
  2> tessera: cache: --arch does nothing with list: leave it out
  [2]
  $ tessera cache clear --arch=80
  2> tessera: cache: --arch does nothing with clear: leave it out
  [2]
  $ tessera cache clera
  2> tessera: cache cannot 'clera' (nearest: 'clear')
  [2]
  $ TESSERA_JIT=off tessera cache warm
  2> tessera: TESSERA_JIT=off: CUDA kernels are compiled at run time, so device 'cuda' has none now: unset it, or use 'cpu'
  [2]
  $ TESSERA_CACHE=kernels TESSERA_NVRTC=/nowhere tessera cache warm
  2> tessera: device 'cuda': no NVRTC found (looked in: TESSERA_NVRTC=/nowhere only); set CUDA_HOME or TESSERA_NVRTC, or install the CUDA toolkit or PyPI's nvidia-cuda-nvrtc
  [2]
