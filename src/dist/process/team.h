/* The threads that run the parts of one process side by side, and the transport between them.
 *
 * Part 0 runs on the caller's thread, every other part on a thread that the team keeps. Messages go
 * through words, one for each direction between two parts:
 *
 *     sender     waits until the word is empty, writes address and length, sets FULL
 *     receiver   waits until the word is full, copies from the sender's buffer, clears FULL
 *
 * A message is copied once. The transport allocates nothing after a channel was opened. A part that
 * has failed sets GONE in all words to and from it: parts that wait for it then fail too, instead
 * of waiting for ever.
 */
#pragma once

#include "core/sleep.h"
#include "core/threads.h"

typedef struct tess_team tess_team;

/* `ctx` is used by the calling thread alone: here, in tess_team_run and in tess_team_destroy. */
tess_status tess_team_create(tess_ctx *ctx, int size, tess_team **out);
void tess_team_destroy(tess_team *team);
/* Whether the calling thread runs a body of the team. */
bool tess_team_inside(const tess_team *team);
/* The transport of one part, valid as long as the team. */
tess_comm tess_team_comm(tess_team *team, int rank);

typedef tess_status (*tess_team_fn)(void *user, int rank);
/* Runs body(user, rank) for all parts at the same time and waits for them. status[rank] is what the
 * body returned. One caller at a time. */
void tess_team_run(tess_team *team, tess_team_fn body, void *user, tess_status *status);
