//! `C = A * B`, square, fp32, row-major, by tiles in shared memory.
//!
//! A block of 256 threads makes a tile of 128 x 128 of C, each thread 8 x 8 of it in registers.
//! Eight columns of A and eight rows of B at a time pass through shared memory, so a float that
//! was loaded once from global memory is used 128 times:
//!
//! ```text
//!            B: 8 rows x 128     per step of 8, in PTX
//!            +-------------+       2 ld.global.v4     (one for A, one for B)
//!   A:       | B_TILE      |       1 st.shared.v4, 4 st.shared
//! 128 rows   +-------------+      32 ld.shared.v4     (8 x (2 for A + 2 for B))
//! x 8 +----+ +-------------+     512 fma.rn.f32       (8 x 8 x 8)
//!     | A_ | | 128 x 128   |
//!     |TILE| | of C        |     16 fma for each ld.shared.v4: the arithmetic units are the
//!     +----+ +-------------+     limit, which is what the tiling is for.
//! ```
#![no_std]
#![feature(abi_ptx)]

use oxide_device::index::{block_idx_x, block_idx_y, thread_idx_x};
use oxide_device::{fma, shared, sync_threads, unroll_8, F32x4};

/// Rows and columns of C that a block makes.
const TILE: usize = 128;
/// Columns of A and rows of B that are in shared memory at a time.
const DEPTH: usize = 8;
/// Half of the rows and columns that a thread makes: one vector. Its 8 x 8 elements are four
/// quarters, 64 apart, so that neighbouring threads read neighbouring vectors: no bank conflicts.
const QUARTER: usize = F32x4::LANES;
const HALF_TILE: usize = TILE / 2;

shared! {
    /// 128 x 8 of A, transposed (`[k][row]`): a thread's four rows are then one vector.
    static A_TILE: [f32; TILE * DEPTH];
    /// 8 x 128 of B as it is (`[k][column]`).
    static B_TILE: [f32; TILE * DEPTH];
}

/// Two vectors of a tile's line, half a tile apart: what one thread needs of it.
///
/// # Safety
/// `line` points to a line of 128 floats in shared memory, aligned to 16, written before the last
/// barrier; `at` is a multiple of 4 below 64.
#[inline(always)]
unsafe fn two_vectors(line: *const f32, at: usize) -> [f32; 2 * QUARTER] {
    // SAFETY: the caller's promise.
    let (low, high) = unsafe {
        (
            F32x4::load(line.add(at)),
            F32x4::load(line.add(HALF_TILE + at)),
        )
    };
    let ([a, b, c, d], [e, f, g, h]) = (low.0, high.0);
    [a, b, c, d, e, f, g, h]
}

/// `c = a * b` for `n` x `n` matrices. Grid `(n / 128, n / 128)`, blocks of 256 threads along x.
///
/// # Safety
/// `n` is a multiple of 128. `a`, `b` and `c` are device pointers to `n * n` floats each, aligned
/// to 16 bytes; `c` overlaps neither `a` nor `b`. Grid and block are as said.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn matmul(a: *const f32, b: *const f32, c: *mut f32, n: u32) {
    let steps = n / DEPTH as u32;
    let n = n as usize;
    let thread = thread_idx_x() as usize;
    let tile_row = block_idx_y() as usize * TILE;
    let tile_column = block_idx_x() as usize * TILE;

    // Which vector this thread brings from global memory: of A's 128 x 8 two threads a row, of
    // B's 8 x 128 one warp a row.
    let (a_row, a_k) = (thread / 2, thread % 2 * QUARTER);
    let (b_k, b_column) = (thread / 32, thread % 32 * QUARTER);
    // Which elements of C it makes: rows `row + 0..4` and `64 + row + 0..4`, columns likewise.
    let (row, column) = (thread / 16 * QUARTER, thread % 16 * QUARTER);

    // Indexed by constants only, once the loops below are unrolled: 64 registers, no memory. One
    // index that stays variable would move all of it to local memory (`ld.local`, very slow).
    let mut sums = [[0.0f32; 2 * QUARTER]; 2 * QUARTER];

    // SAFETY: all indices are inside the matrices and tiles since `n` is a multiple of 128. Every
    // thread comes to every barrier; between two barriers a tile is either written (each element
    // by one thread) or read.
    unsafe {
        let mut a_next = a.add((tile_row + a_row) * n + a_k);
        let mut b_next = b.add(b_k * n + tile_column + b_column);
        for _ in 0..steps {
            let from_a = F32x4::load(a_next);
            let from_b = F32x4::load(b_next);
            // Wrapping, since after the last step they point past the matrices.
            a_next = a_next.wrapping_add(DEPTH);
            b_next = b_next.wrapping_add(DEPTH * n);
            for i in 0..QUARTER {
                A_TILE.write((a_k + i) * TILE + a_row, from_a[i]);
            }
            from_b.store(B_TILE.element(b_k * TILE + b_column));
            sync_threads();

            unroll_8(|k| {
                let a_rows = two_vectors(A_TILE.element(k * TILE), row);
                let b_columns = two_vectors(B_TILE.element(k * TILE), column);
                // Column by column: `ptxas` then needs at most 128 registers on every GPU, so
                // that two blocks fit on a multiprocessor. Row by row it took 139 on sm_80.
                for j in 0..2 * QUARTER {
                    for i in 0..2 * QUARTER {
                        sums[i][j] = fma(a_rows[i], b_columns[j], sums[i][j]);
                    }
                }
            });
            // Before the next step overwrites what a slower warp still reads.
            sync_threads();
        }

        for (i, line_sums) in sums.into_iter().enumerate() {
            let c_row = tile_row + row + i % QUARTER + i / QUARTER * HALF_TILE;
            let line = c.add(c_row * n + tile_column + column);
            let [p, q, r, s, t, u, v, w] = line_sums;
            F32x4([p, q, r, s]).store(line);
            F32x4([t, u, v, w]).store(line.add(HALF_TILE));
        }
    }
}
