/* The command: finds the subcommand and runs it. */
#include <stdio.h>

#include "tessera/tessera.h"

int main(void)
{
    printf("tessera %s\n", tess_version());
    return 0;
}
