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

#endif
