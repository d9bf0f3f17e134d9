/* Parts as threads of one process: the transport of tests without MPI. */
#ifndef TEST_THREAD_COMM_H
#define TEST_THREAD_COMM_H

#include "tessera/tessera.h"

typedef struct test_team test_team;

test_team *test_team_create(int size);
void test_team_destroy(test_team *team);
/* The comm of one part; valid as long as the team. */
tess_comm test_team_comm(test_team *team, int rank);
/* Runs body(rank, user) on `size` threads and waits for all. */
void test_team_run(test_team *team, void (*body)(int rank, void *user), void *user);
/* The calls of `rank` fail from its n-th on, counted from 0; -1: never. */
void test_team_fail(test_team *team, int rank, long n);
/* Calls that `rank` has made so far. */
long test_team_calls(const test_team *team, int rank);

#endif
