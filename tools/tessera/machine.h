/* The machine that a measurement was made on. */
#ifndef TESSERA_MACHINE_H
#define TESSERA_MACHINE_H

typedef struct machine_facts {
    char processor[128];
    char system[256]; /* "Linux 6.1.0 aarch64" */
    char date[32];    /* 2026-01-31, UTC */
    long processors;
    const char *compiler; /* that made this program */
} machine_facts;

void machine_look(machine_facts *facts);

#endif
