/* The page of `tessera report`: its facts, and the sections that it is made of. */
#ifndef TESSERA_REPORT_PAGE_H
#define TESSERA_REPORT_PAGE_H

#include "../info/info.h"
#include "../solve/run.h"
#include "../svg.h"
#include "../tune/tune.h"

typedef struct report_facts {
    const info_facts *info;
    const tess_matrix *scalars; /* 1 x 1 blocks, stored zeros kept */
    const tuning *plan;         /* A in blocks, its plan and device, the read ceiling */
    const solve_run *solve;     /* NULL: nothing was solved */
    const char *unsolved;       /* why nothing was solved */
    double read_seconds, info_seconds, plan_seconds;
} report_facts;

void report_page(FILE *out, const report_facts *facts);

/* spy.c, matrix.c, plan.c, solve.c: sections of the page. */
void report_spy(FILE *out, const report_facts *facts);
void report_rows(FILE *out, const report_facts *facts);
void report_blocks(FILE *out, const report_facts *facts);
void report_plan(FILE *out, const report_facts *facts);
void report_solve(FILE *out, const report_facts *facts);
void report_times(FILE *out, const report_facts *facts);

/* ---- page.c: what sections share ---- */

/* Escaped text. */
void page_text(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A section's title and first sentence; `picture` and `words` stand side by side where there is
 * room. */
void page_section(FILE *out, const char *title, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void page_end_section(FILE *out);
void page_begin_side(FILE *out, const char *class);
void page_end_side(FILE *out);

/* Tables. Each number is shown rounded, and stored exactly for programs. */
void page_table(FILE *out, const char *caption, int columns, const char *const *heads);
void page_end_table(FILE *out);
void page_row(FILE *out, bool marked);
void page_end_row(FILE *out);
void page_cell(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A cell that is not broken into lines. */
void page_short(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_number(FILE *out, double value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A kernel's name, which may be broken at its underscores. */
void page_kernel(FILE *out, const char *format, const char *kernel, const char *params);
/* A row of two cells: a name and its value. */
void page_fact(FILE *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A bar chart: rows one below the other, each of up to three parts. */
enum { BAR_PARTS = 3 };
typedef struct page_bar {
    char label[TEXT_MAX], text[TEXT_MAX];
    double parts[BAR_PARTS];
    bool marked;
} page_bar;
/* `keys`: the parts' names, NULL where there is one only. */
void page_bars(FILE *out, const char *name, const char *title, int count, const page_bar *bars,
               const char *const *keys);

#endif
