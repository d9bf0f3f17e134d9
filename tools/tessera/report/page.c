/* The page of `tessera report`: one self-contained file of HTML that is also XML. */
#include <stdarg.h>
#include <string.h>

#include "../machine.h"
#include "page.h"

/* ---- What sections share ---- */

static void write_text(FILE *out, const char *format, va_list arguments)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, arguments);
    svg_escape(out, text);
}

void page_text(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_text(out, format, arguments);
    va_end(arguments);
}

void page_section(FILE *out, const char *title, const char *format, ...)
{
    va_list arguments;
    fprintf(out, "<section>\n<h2>%s</h2>\n<p>", title);
    va_start(arguments, format);
    write_text(out, format, arguments);
    va_end(arguments);
    fprintf(out, "</p>\n<div class=\"sides\">\n");
}

void page_end_section(FILE *out)
{
    fprintf(out, "</div>\n</section>\n");
}

void page_begin_side(FILE *out, const char *class)
{
    fprintf(out, "<div class=\"%s\">\n", class);
}

void page_end_side(FILE *out)
{
    fprintf(out, "</div>\n");
}

void page_table(FILE *out, const char *caption, int columns, const char *const *heads)
{
    fprintf(out, "<div class=\"wide\"><table>\n<caption>");
    svg_escape(out, caption);
    fprintf(out, "</caption>\n");
    if (columns > 0) {
        fprintf(out, "<thead><tr>");
        for (int i = 0; i < columns; i++)
            fprintf(out, "<th scope=\"col\">%s</th>", heads[i]);
        fprintf(out, "</tr></thead>\n");
    }
    fprintf(out, "<tbody>\n");
}

void page_end_table(FILE *out)
{
    fprintf(out, "</tbody></table></div>\n");
}

void page_row(FILE *out, bool marked)
{
    fprintf(out, marked ? "<tr class=\"marked\">" : "<tr>");
}

void page_end_row(FILE *out)
{
    fprintf(out, "</tr>\n");
}

void page_cell(FILE *out, const char *format, ...)
{
    va_list arguments;
    fprintf(out, "<td>");
    va_start(arguments, format);
    write_text(out, format, arguments);
    va_end(arguments);
    fprintf(out, "</td>");
}

void page_short(FILE *out, const char *format, ...)
{
    va_list arguments;
    fprintf(out, "<td class=\"short\">");
    va_start(arguments, format);
    write_text(out, format, arguments);
    va_end(arguments);
    fprintf(out, "</td>");
}

void page_number(FILE *out, double value, const char *format, ...)
{
    va_list arguments;
    fprintf(out, "<td class=\"number\"><data value=\"%.12g\">", value);
    va_start(arguments, format);
    write_text(out, format, arguments);
    va_end(arguments);
    fprintf(out, "</data></td>");
}

void page_kernel(FILE *out, const char *format, const char *kernel, const char *params)
{
    char name[NAME_MAX_LENGTH];
    text_kernel(format, kernel, params, name);
    fprintf(out, "<td><code>");
    for (char *word = name; *word;) {
        size_t length = strcspn(word, "_,");
        length += word[length] != 0;
        const char kept = word[length];
        word[length] = 0;
        svg_escape(out, word);
        fprintf(out, "<wbr/>");
        word[length] = kept;
        word += length;
    }
    fprintf(out, "</code></td>");
}

void page_fact(FILE *out, const char *name, const char *format, ...)
{
    va_list arguments;
    fprintf(out, "<tr><th scope=\"row\">%s</th><td>", name);
    va_start(arguments, format);
    write_text(out, format, arguments);
    va_end(arguments);
    fprintf(out, "</td></tr>\n");
}

enum { BAR_WIDTH = 480, BAR_LEFT = 118, BAR_RIGHT = 392, BAR_STEP = 24 };

void page_bars(FILE *out, const char *name, const char *title, int count, const page_bar *bars,
               const char *const *keys)
{
    static const char *const fills[BAR_PARTS] = {"f1", "f2", "f5"};
    const int top = keys ? 30 : 4;
    double most = 0;
    for (int i = 0; i < count; i++) {
        const double length = bars[i].parts[0] + bars[i].parts[1] + bars[i].parts[2];
        most = greater(length, most);
    }
    svg_open(out, name, BAR_WIDTH, top + BAR_STEP * count, title, "The table has the numbers.",
             false);
    for (int k = 0, x = 8; keys && k < BAR_PARTS; k++) {
        fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"6\" width=\"12\" height=\"12\"/>\n", fills[k],
                x);
        svg_text(out, x + 18, 16, "small", "%s", keys[k]);
        x += 34 + 6 * (int)strlen(keys[k]);
    }
    for (int i = 0; i < count; i++) {
        const double y = top + BAR_STEP * i;
        double x = BAR_LEFT;
        svg_text(out, BAR_LEFT - 8, y + 16, bars[i].marked ? "end title" : "end", "%s",
                 bars[i].label);
        for (int k = 0; k < BAR_PARTS && most > 0; k++) {
            const double width = (BAR_RIGHT - BAR_LEFT) * bars[i].parts[k] / most;
            if (width > 0)
                fprintf(out,
                        "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"16\"/>\n",
                        fills[k], x, y + 3, width);
            x += greater(width, 0);
        }
        svg_text(out, x + 6, y + 16, "small", "%s", bars[i].text);
    }
    svg_close(out);
}

/* ---- The page ---- */

static const char style[] =
    "*{box-sizing:border-box}"
    "body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#fff;color:#1c2127}"
    "main{max-width:1080px;margin:0 auto;padding:24px 16px 48px}"
    "h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}"
    "h2{font-size:1.2rem;margin:0 0 4px}p{margin:0 0 12px;max-width:70ch;overflow-wrap:anywhere}"
    "section{border-top:1px solid #d9dde2;padding:20px 0 12px;margin-top:16px}"
    ".sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));"
    "gap:20px 32px;align-items:start}"
    ".sides>*{min-width:0}"
    ".sides.one{grid-template-columns:1fr}"
    ".zooms{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,230px),1fr));"
    "gap:20px;grid-column:1/-1}"
    "figure{margin:0}figcaption{font-size:.82rem;color:#5a6370;margin-top:4px}"
    "svg{display:block;width:100%;height:auto;max-width:520px}"
    ".zooms svg{max-width:100%;background:#f6f8fa}"
    ".wide{overflow-x:auto;margin-bottom:16px}"
    "table{border-collapse:collapse;font-size:.87rem;width:100%}"
    "caption{text-align:left;font-weight:600;padding-bottom:4px}"
    "th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid #e6e9ed;"
    "vertical-align:top}"
    "tbody th+td{overflow-wrap:anywhere}td code{display:inline-block;min-width:11rem}"
    "thead th{font-weight:500;color:#5a6370}tbody th{font-weight:500;white-space:nowrap}"
    ".number,.short{white-space:nowrap}.number{font-variant-numeric:tabular-nums}"
    "code{font:.85em ui-monospace,monospace}.marked td{font-weight:650}"
    "pre{overflow-x:auto;font:.8rem/1.45 ui-monospace,monospace;padding:12px;background:#f6f8fa;"
    "border-radius:6px}"
    ".key{display:flex;flex-wrap:wrap;gap:8px 32px;margin:12px 0 0;padding:0;list-style:none}"
    ".key b{display:block;font-size:1.15rem}.key span{color:#5a6370;font-size:.82rem}"
    "footer{color:#5a6370;font-size:.82rem;margin-top:24px}"
    "@media(prefers-color-scheme:dark){body{background:#15181c;color:#e8eaed}"
    "section{border-color:#333b44}th,td{border-color:#2c333b}.zooms svg,pre{background:#1c2127}"
    "figcaption,thead th,.key span,footer{color:#a3acb8}}\n";

static void key_figure(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<li><span>%s</span><b>", name);
    svg_escape(out, value);
    fprintf(out, "</b></li>\n");
}

static void write_head(FILE *out, const report_facts *facts, const machine_facts *here)
{
    const tess_matrix_view *A = &facts->info->matrix;
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], symmetry[128];
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
            "<meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
            "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
    svg_escape(out, facts->info->input);
    fprintf(out, ": tessera report</title>\n<style>\n%s", style);
    svg_style(out);
    fprintf(out, "</style>\n</head>\n<body>\n<main>\n<header>\n<h1>");
    svg_escape(out, facts->info->input);
    info_describe_symmetry(facts->info, symmetry, sizeof symmetry);
    fprintf(out, "</h1>\n<p>");
    page_text(out, "%s \xc3\x97 %s, %s entries, %s, %s. On %s, %s; %s.", text_count(A->rows, a),
              text_count(A->cols, b), text_count(A->blocks, c), type_name(A->type), symmetry,
              here->processor, tess_device_description(facts->plan->device), here->date);
    fprintf(out, "</p>\n");
}

static void write_key_figures(FILE *out, const report_facts *facts)
{
    const tess_plan_info plan = plan_info(facts->plan->plan);
    const tess_matrix_view A = view_of(facts->plan->A);
    char text[128], a[TEXT_MAX], b[TEXT_MAX];
    fprintf(out, "<ul class=\"key\">\n");
    snprintf(text, sizeof text, "%d \xc3\x97 %d", A.block_height, A.block_width);
    key_figure(out, "blocks", text);
    key_figure(out, "a product moves", text_bytes(plan.bytes, a));
    if (plan.measured_seconds > 0) {
        snprintf(text, sizeof text, "%s, %.1f GB/s", text_seconds(plan.measured_seconds, a),
                 1e-9 * plan.bytes / plan.measured_seconds);
        key_figure(out, "and takes", text);
    }
    if (facts->solve) {
        const tess_result *r = &facts->solve->report.result;
        snprintf(text, sizeof text, "%s, %s iteration%s, %s", tess_reason_name(r->reason),
                 text_count(r->iterations, a), r->iterations == 1 ? "" : "s",
                 text_seconds(r->seconds, b));
        key_figure(out, "solve", text);
    }
    fprintf(out, "</ul>\n</header>\n");
}

static void write_machine(FILE *out, const report_facts *facts, const machine_facts *here)
{
    const tess_device_info device = device_info(facts->plan->device);
    char a[TEXT_MAX];
    page_section(out, "The machine", "Measurements on this page were made here.");
    page_begin_side(out, "words");
    page_table(out, "Machine and program", 0, NULL);
    page_fact(out, "processor", "%s", here->processor);
    page_fact(out, "processors", "%ld", here->processors);
    page_fact(out, "system", "%s", here->system);
    page_fact(out, "device", "%s", device.description);
    if (device.threads > 0)
        page_fact(out, "threads", "%d", device.threads);
    if (device.cache_bytes > 0)
        page_fact(out, "cache", "%s", text_bytes(device.cache_bytes, a));
    if (facts->plan->ceiling > 0)
        page_fact(out, "reads", "%.1f GB/s, an array of the product's size again and again",
                  1e-9 * facts->plan->ceiling);
    page_fact(out, "performance model", "%s", device.model);
    page_fact(out, "tessera", "%s, by %s", tess_version(), here->compiler);
    page_fact(out, "date", "%s", here->date);
    page_end_table(out);
    page_end_side(out);
    page_end_section(out);
}

void report_page(FILE *out, const report_facts *facts)
{
    machine_facts here;
    machine_look(&here);
    write_head(out, facts, &here);
    write_key_figures(out, facts);
    report_spy(out, facts);
    report_rows(out, facts);
    report_blocks(out, facts);
    report_plan(out, facts);
    report_solve(out, facts);
    report_times(out, facts);
    write_machine(out, facts, &here);
    fprintf(out, "<footer>tessera report ");
    svg_escape(out, facts->info->input);
    fprintf(out, "</footer>\n</main>\n</body>\n</html>\n");
}
