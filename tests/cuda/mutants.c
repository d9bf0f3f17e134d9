#include "mutants.h"

#include <stdio.h>

#define LOSE_BARRIER "s/__syncthreads()/(void)0/"

/* A line an intact kernel, its mutants after it. */
const test_mutant test_mutants[] = {
    {"sliced_intact", "sliced", "tpr=4,threads=128", 3, ""},
    {"sliced_barrier", "sliced", "tpr=4,threads=128", 3,
     "/parts.threadIdx.x. = sum/,+1" LOSE_BARRIER},
    {"sliced_columns", "sliced", "tpr=4,threads=128", 3, "s/+ lane \\/ BH) \\* GROUP/) * GROUP/"},

    {"sliced_wide_intact", "sliced", "V=2,tpr=2", 17, ""},
    {"sliced_wide_end", "sliced", "V=2,tpr=2", 17, "s/+ (j)) \\* VEC + (i) < BW/+ (j)) >= 0/"},
    {"sliced_wide_share", "sliced", "V=2,tpr=2", 17, "s/ \\&\\& (j) < AT_END(LAST)//"},

    {"sliced_fields_intact", "sliced", "fields,sigma=4096,lambda=8", 3, ""},
    {"sliced_fields_x", "sliced", "fields,sigma=4096,lambda=8", 3,
     "s/field_place(column, first + j, cols, BW)/column * BW + first + j/"},
    {"sliced_fields_old", "sliced", "fields,sigma=4096,lambda=8", 3,
     "s/NOT_ZERO(a.beta) ? a.y\\[at\\]/NOT_ZERO(a.beta) ? a.y[row]/"},
    {"sliced_fields_y", "sliced", "fields,sigma=4096,lambda=8", 3, "s/a.y\\[at\\] =/a.y[row] =/"},
    {"sliced_fields_cut", "sliced", "fields,sigma=4096,lambda=8", 3,
     "s/a->y\\[at\\] =/a->y[row] =/"},
    {"sliced_fields_dot_intact", "sliced_dot", "fields,", 3, ""},
    {"sliced_fields_dot", "sliced_dot", "fields,", 3, "s/a.w\\[at\\]/a.w[row]/"},

    {"sliced_dot_intact", "sliced_dot", "", 3, ""},
    {"sliced_dot_barrier", "sliced_dot", "", 3, "/scratch.threadIdx.x. = mine/,+1" LOSE_BARRIER},
    {"sliced_dot_half", "sliced_dot", "", 3, "s/left > 1; left/left > 2; left/"},

    {"sliced_spmm_intact", "sliced_spmm", "", 3, ""},
    {"sliced_spmm_vector", "sliced_spmm", "", 3,
     "s/MULTIPLY_ADD(sums\\[i\\]\\[j\\]/MULTIPLY_ADD(sums[i][0]/"},

    {"swept_intact", "swept", "", 3, ""},
    {"swept_barrier", "swept", "", 3, "/may be another lane's/s/__syncwarp(0xffffffffu)/(void)0/"},
    {"swept_zero", "swept", "", 3, "s/sums\\[i\\] = 0;/sums[i] = lane == 7;/"},

    {"stream_intact", "stream", "tile=4,per_sm=1", 3, ""},
    {"stream_barrier", "stream", "tile=4,per_sm=1", 3, "/keep(xs, x + next/,+1" LOSE_BARRIER},
    {"stream_stage", "stream", "tile=4,per_sm=1", 3, "s/ring + stage \\* TILE_VALUES/ring/"},

    {"fbcsr_intact", "fbcsr", "", 1, ""},
    {"fbcsr_runs", "fbcsr", "", 1, "s/real sum = class_sum(/real sum = 2 * class_sum(/"},
    {"fbcsr_diagonals", "fbcsr", "", 1, "s/real sum = diagonal_sum(/real sum = -diagonal_sum(/"},

    /* Paper 001. */
    {"splits_intact", "splits", "parts=4", 1, ""},
    {"splits_barrier", "splits", "parts=4", 1, "/parts.threadIdx.x. = sum/,+1" LOSE_BARRIER},
    {"splits_parts", "splits", "parts=4", 1, "s/(a, first + part, end/(a, first, end/"},
    {"splits_reach", "splits", "parts=1", 1, "s/row - height + 1/row - height + 2/"},
    {"splits_cell", "splits", "parts=1", 1, "s/ + cell % width)/)/"},
    {"splits_shift", "splits", "parts=1", 1, "s/ + shift \\* i)/ + i)/"},
    {"splits_lanes", "splits", "lanes=4,rest=8", 1, "s/; by > 0; by/; by > 1; by/"},
    {"splits_scaled", "splits", "parts=1", 1, "s/any || a->beta != 1/any/"},
    {"splits_square_intact", "splits", "shapes=32x32@0.02/40x33@0.01/8x4+1@0.1,parts=4", 1, ""},
    {"splits_square_hand", "splits", "shapes=32x32@0.02/40x33@0.01/8x4+1@0.1,parts=4", 1,
     "s/mine, from + u, 32/mine, u, 32/"},
    {"splits_square_chunk", "splits", "shapes=32x32@0.02/40x33@0.01/8x4+1@0.1,parts=4", 1,
     "s/2 \\* chunk + 1/2 * chunk/"},
    {"splits_square_barrier", "splits", "shapes=32x32@0.02/40x33@0.01/8x4+1@0.1,parts=4", 1,
     "/parts.threadIdx.x. = sum/,+1" LOSE_BARRIER},
    {"splits_skew", "splits", "shapes=32x32@0.02/40x33@0.01/8x4+1@0.1,parts=4", 1,
     "s/READ_ONLY(a->cols + b) + shift \\* i;/READ_ONLY(a->cols + b);/"},

    /* Paper 002. */
    {"by_block_intact", "by_block", "rows=1", 3, ""},
    {"by_block_column", "by_block", "rows=1", 3, "s/c = lane \\/ BH % BW/c = lane % BW/"},
    {"by_block_last", "by_block", "rows=1", 3,
     "s/block + u \\* BLOCKS < last/block + u * BLOCKS + 1 < last/"},
    {"by_block_tree", "by_block", "rows=1", 3,
     "s/stride = 16; stride > 0/stride = 16; stride > 1/"},

    {"by_column_intact", "by_column", "lanes=32", 3, ""},
    {"by_column_next", "by_column", "lanes=32", 3, "s/if (c >= BW)/if (c > BW)/"},
    {"by_column_lanes", "by_column", "lanes=32", 3,
     "s/lane + stride \\* BH < WARP_COLUMNS \\* BH/true/"},

    {"row_per_thread_intact", "row_per_thread", "shared=1", 17, ""},
    {"row_per_thread_small", "row_per_thread", "shared=1", 2, ""},
    {"row_per_thread_before", "row_per_thread", "shared=1", 17, "0,/__syncthreads/" LOSE_BARRIER},
    {"row_per_thread_after", "row_per_thread", "shared=1", 17, "/xs.c. = block_x/,+1" LOSE_BARRIER},
    {"row_per_thread_rest", "row_per_thread", "shared=0", 17,
     "s/WHOLE, BW - WHOLE, sum/WHOLE, BW - WHOLE - 1, sum/"},

    /* Paper 003. */
    {"ksparse_small_intact", "ksparse_small", "Nbrows_ta=2", 3, ""},
    {"ksparse_small_set", "ksparse_small", "Nbrows_ta=2", 3,
     "s/block += BLOCKS;/block += 2 * BLOCKS;/"},
    {"ksparse_small_rows", "ksparse_small", "Nbrows_ta=2", 3, "s/array \\* NBROWS + n/array + n/"},

    {"ksparse_medium_intact", "ksparse_medium", "N_tg=4,N_ta=4,Nbrows_ta=2", 7, ""},
    {"ksparse_medium_slice", "ksparse_medium", "N_tg=4,N_ta=4,Nbrows_ta=2", 7,
     "s/g > THRESHOLD ? g - THRESHOLD/g >= THRESHOLD ? g - THRESHOLD + 1/"},
    {"ksparse_medium_wide", "ksparse_medium", "N_tg=4,N_ta=4,Nbrows_ta=2", 7,
     "s/g >= THRESHOLD)/g > THRESHOLD)/"},
    {"ksparse_medium_first", "ksparse_medium", "N_tg=4,N_ta=4,Nbrows_ta=2", 7,
     "/parts.threadIdx.x. = sum/,+1" LOSE_BARRIER},
    {"ksparse_medium_second", "ksparse_medium", "N_tg=4,N_ta=4,Nbrows_ta=2", 7,
     "/ADD_TO(sum, parts/,+1" LOSE_BARRIER},

    {"ksparse_large_intact", "ksparse_large", "nb=16,N_tg=4,ept=4", 40, ""},
    {"ksparse_large_small", "ksparse_large", "nb=4,N_tg=2,ept=2", 5, ""},
    {"ksparse_large_strip", "ksparse_large", "nb=16,N_tg=4,ept=4", 40,
     "s/blockIdx.x % STRIPS/blockIdx.x % (STRIPS - 1)/"},
    {"ksparse_large_set", "ksparse_large", "nb=16,N_tg=4,ept=4", 40,
     "s/c >= SETS \\* WIDTH/c >= (SETS - 1) * WIDTH/"},
    {"ksparse_large_barrier", "ksparse_large", "nb=16,N_tg=4,ept=4", 40,
     "/parts.threadIdx.x. = sum/,+1" LOSE_BARRIER},

    {"balanced_intact", "ksparse_small_balanced", "lambda=8", 3, ""},
    {"balanced_short", "ksparse_small_balanced", "lambda=8", 3,
     "s/end - first > BALANCED_LONG/end - first > 1/"},
    {"balanced_part", "ksparse_small_balanced", "lambda=8", 3,
     "s/first + q, end, BALANCED_PARTS/first + q, end, BALANCED_PARTS + 1/"},
    {"balanced_barrier", "ksparse_small_balanced", "lambda=8", 3,
     "/parts.threadIdx.x. = sum/,+1" LOSE_BARRIER},

    /* Paper 004. */
    {"block_row_intact", "block_row", "", 4, ""},
    {"block_row_tree", "block_row", "", 4, "/sums.threadIdx.x + stride/,+1" LOSE_BARRIER},
    {"warp_row_intact", "warp_row", "sort=1", 2, ""},
    {"warp_row_target", "warp_row", "sort=1", 2, "s/return TARGETS ? .*;/return (int)at;/"},
    {"warp_row_unordered_intact", "warp_row", "sort=1,reorder=0", 2, ""},
    {"warp_row_unordered_last", "warp_row", "sort=1,reorder=0", 2,
     "s/(left + BX - 1) \\/ BX/left \\/ BX/"},
    {"multi_row_intact", "multi_row", "sort=1,Bx=2", 2, ""},
    {"multi_row_stride", "multi_row", "sort=1,Bx=2", 2, "s/REORDER ? BX \\* BY : BX/BX/"},
    {"multi_row_barrier", "multi_row", "sort=1,Bx=2", 2,
     "/sums.threadIdx.x. = sum/,+1" LOSE_BARRIER},
    {"multi_row_dot_intact", "multi_row_dot", "sort=1,Bx=1", 3, ""},
    {"multi_row_dot_w", "multi_row_dot", "sort=1,Bx=1", 3, "s/a.w\\[row\\]/a.w[inside]/"},
    {"multi_row_dot_half", "multi_row_dot", "sort=1,Bx=1", 3, "s/left > 1; left/left > 2; left/"},
    {"multi_row_unordered_intact", "multi_row", "sort=1,reorder=0", 2, ""},
    {"multi_row_unordered_target", "multi_row", "sort=1,reorder=0", 2,
     "s/const int row = target_of(a, line)/const int row = line/"},

    /* Arithmetic of complex scalars. */
    {"complex_intact", "sliced", "type=c64,tpr=4,threads=128", 3, ""},
    {"complex_sign", "sliced", "type=c64", 3, "s/sum.re -= v.im/sum.re += v.im/"},
    {"complex_cross", "sliced", "type=c64", 3, "s/sum.im += v.re \\* x.im/sum.im += v.re * x.re/"},
    {"complex_alpha", "sliced", "type=c64", 3,
     "s/(real)alpha.im \\* sum.im/(real)alpha.re * sum.im/"},
    {"complex_beta", "sliced", "type=c64", 3, "s/(real)beta.im \\* old.re/(real)beta.re * old.re/"},
    {"complex_zero", "sliced", "type=c64", 3, "s/!= 0 || (number).im != 0)/!= 0)/"},
    {"complex_one", "sliced", "type=c64", 3, "s/== 1 \\&\\& (number).im == 0)/== 1)/"},
    {"complex_parts", "sliced", "type=c32,tpr=4,threads=128", 3, "s/    a.im += b.im;//"},
    {"complex_shuffle", "by_block", "type=c32,rows=1", 3,
     "s/__shfl_down_sync(mask, value.im/__shfl_down_sync(mask, value.re/"},
    {"complex_conjugate_intact", "by_block", "conjugate=c32,rows=1", 3, ""},
    {"complex_conjugate_lost", "by_block", "conjugate=c32,rows=1", 3, "s/#if CONJUGATE/#if 0/"},
    {"complex_conjugate_sign", "by_block", "conjugate=c32,rows=1", 3,
     "s/sum.im -= v.im/sum.im += v.im/"},
    {"complex_spmm_intact", "sliced_spmm", "type=c32,each=2", 3, ""},
    {"complex_spmm_load", "sliced_spmm", "type=c32,each=2", 3,
     "s/read_scalar(a->x + element(i, first/read_scalar(a->x + element(0, first/"},
};
const int test_mutant_count = sizeof test_mutants / sizeof *test_mutants;

bool test_mutant_variant(tess_ctx *ctx, const test_mutant *mutant, test_variant *out)
{
    if (!test_variant_of(ctx, mutant->kernel, mutant->params, mutant->block, out))
        return false;
    snprintf(out->name, sizeof out->name, "mutant_%s", mutant->name);
    return true;
}
