// A system read from PETSc's binary format (big-endian), and the loop over the solvers asked for.
#ifndef BENCH_PEER_SYSTEM_HPP
#define BENCH_PEER_SYSTEM_HPP

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <endian.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer_solve.h"

/* // CSR, scalar rows. coordinates: one per row, or none at all. */
struct peer_system {
    int block = 1;
    std::vector<int> offsets, columns;
    std::vector<double> values, b, coordinates;

    int rows() const
    {
        return static_cast<int>(offsets.size()) - 1;
    }

    double true_residual(const std::vector<double> &x) const
    {
        double residual = 0, norm = 0;
        for (int i = 0; i < rows(); i++) {
            double r = b[i];
            for (int k = offsets[i]; k < offsets[i + 1]; k++)
                r -= values[k] * x[columns[k]];
            residual += r * r;
            norm += b[i] * b[i];
        }
        return std::sqrt(residual / norm);
    }
};

inline std::vector<int> read_ints(std::ifstream &file, std::size_t count)
{
    std::vector<int> numbers(count);
    file.read(reinterpret_cast<char *>(numbers.data()), static_cast<std::streamsize>(4 * count));
    for (int &number : numbers)
        number = static_cast<int>(be32toh(static_cast<std::uint32_t>(number)));
    return numbers;
}

inline std::vector<double> read_doubles(std::ifstream &file, std::size_t count)
{
    std::vector<double> numbers(count);
    file.read(reinterpret_cast<char *>(numbers.data()), static_cast<std::streamsize>(8 * count));
    for (double &number : numbers) {
        std::uint64_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        bits = be64toh(bits);
        std::memcpy(&number, &bits, sizeof bits);
    }
    return numbers;
}

inline peer_system read_system(const char *path, int block)
{
    std::ifstream file(path, std::ios::binary);
    peer_system system;
    system.block = block;
    const auto head = read_ints(file, 4); // a code, rows, columns, entries
    if (!file || head[0] != 1211216)
        throw std::runtime_error(std::string(path) + " is not a PETSc matrix");
    const auto lengths = read_ints(file, static_cast<std::size_t>(head[1]));
    system.offsets.assign(1, 0);
    for (int length : lengths)
        system.offsets.push_back(system.offsets.back() + length);
    system.columns = read_ints(file, static_cast<std::size_t>(head[3]));
    system.values = read_doubles(file, static_cast<std::size_t>(head[3]));
    read_ints(file, 2);
    system.b = read_doubles(file, static_cast<std::size_t>(head[1]));
    if (!file)
        throw std::runtime_error(std::string(path) + " ends early");
    read_ints(file, 2);
    if (file)
        system.coordinates = read_doubles(file, static_cast<std::size_t>(head[1]));
    return system;
}

inline double peer_seconds()
{
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Solve(system, method, pc, tol, report) fills iterations, setup, solve and true_residual, or returns
// false when the library has no such solver.
template <class Solve>
int peer_solvers(int argc, char **argv, const char *peer, const char *version, int threads,
                 Solve solve)
{
    if (argc < 6) {
        std::fprintf(stderr, "usage: %s FILE BLOCK TOL REPS METHOD:PC ...\n", argv[0]);
        return 2;
    }
    const peer_system system = read_system(argv[1], std::atoi(argv[2]));
    for (int i = 5; i < argc; i++) {
        const std::string pair = argv[i], method = pair.substr(0, pair.find(':')),
                          pc = pair.substr(pair.find(':') + 1);
        peer_report report = {};
        report.peer = peer;
        report.version = version;
        report.method = method.c_str();
        report.pc = pc.c_str();
        report.threads = threads;
        report.reps = std::min(std::atoi(argv[4]), static_cast<int>(PEER_REPS_MAX));
        if (solve(system, method, pc, std::atof(argv[3]), report))
            peer_print(&report);
    }
    return 0;
}

#endif
