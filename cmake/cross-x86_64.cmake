# Compiles everything for x86-64 with Debian's cross compiler; nothing is linked or run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-linux-gnu-gcc)
set(ZLIB_LIBRARY z CACHE STRING "a name only: there is no library of that family here")
set(CMAKE_SKIP_RPATH ON)
