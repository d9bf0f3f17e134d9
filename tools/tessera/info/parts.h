/* tessera info --parts. */
#ifndef TOOLS_INFO_PARTS_H
#define TOOLS_INFO_PARTS_H

#include "../command.h"

typedef struct info_parts info_parts;

/* `text` is the option's value, "N" or "N,PARTITION". A is taken in the blocks it has, else in
 * those recommended where they are square. Returns the exit status. */
int info_parts_gather(cli_app *app, const char *text, const tess_matrix *A,
                      const tess_block_candidate *recommended, info_parts **out);
void info_parts_destroy(info_parts *p); /* NULL is fine */
void info_parts_print(const cli_app *app, const info_parts *p);
json_t *info_parts_json(const info_parts *p);

#endif
