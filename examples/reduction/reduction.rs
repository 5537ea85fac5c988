//! Sum of an array by a tree in shared memory.
//!
//! One launch leaves one partial sum per block; a second launch with one block adds those up:
//!
//! ```text
//! sum<<<blocks, 256>>>(input, n, partial);  sum<<<1, 256>>>(partial, blocks, result);
//! ```
//!
//! Two launches instead of atomics: the order of additions is fixed, so the result is the same
//! bits in every run.
#![no_std]
#![feature(abi_ptx)]

use oxide_device::index::{block_dim_x, block_idx_x, thread_idx_x};
use oxide_device::{dynamic_shared, grid_stride, shared, sync_threads};

/// Threads per block that [`sum`] is written for.
const THREADS: usize = 256;

shared! {
    /// One float per thread. In PTX: `.shared .align 16 .b8 NAME[1024];`
    static PARTIAL: [f32; THREADS];
}

dynamic_shared! {
    /// As large as the launch says. In PTX: `.extern .shared .align 16 .b8 NAME[];`
    static ANY_SIZE: [f32];
}

/// This thread's share of `input`, added up in registers.
///
/// # Safety
/// `input` is a device pointer to `n` floats that nobody writes.
#[inline(always)]
unsafe fn sum_of_share(input: *const f32, n: u32) -> f32 {
    let mut sum = 0.0;
    for i in grid_stride(n as usize) {
        // SAFETY: `i < n`.
        sum += unsafe { *input.add(i) };
    }
    sum
}

/// `partial[block]` = sum of the block's share of `input[..n]`. Blocks of exactly 256 threads.
///
/// # Safety
/// `input` is a device pointer to `n` floats, `partial` to as many floats as the grid has blocks;
/// they do not overlap. The block has 256 threads along x.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sum(input: *const f32, n: u32, partial: *mut f32) {
    let thread = thread_idx_x() as usize;
    // SAFETY: `thread < 256`. Between two barriers each element has one writer, and those who
    // read it (`thread < half` reads `thread + half >= half`) read none that is being written.
    unsafe {
        // `st.shared.b32`: LLVM follows the pointer back to the placed static and so knows the
        // address space. A generic `st` would ask the hardware to find out at run time.
        PARTIAL.write(thread, sum_of_share(input, n));
        // 256 is known here, so LLVM unrolls the tree: eight steps without a loop.
        let mut half = THREADS / 2;
        while half > 0 {
            // Outside the `if`: every thread must come to every barrier.
            sync_threads();
            if thread < half {
                PARTIAL.write(thread, PARTIAL.read(thread) + PARTIAL.read(thread + half));
            }
            half /= 2;
        }
        if thread == 0 {
            *partial.add(block_idx_x() as usize) = PARTIAL.read(0);
        }
    }
}

/// As [`sum`] for any power of two of threads, with `4 * threads` bytes of dynamic shared memory.
///
/// The block size is a run-time value here, so the tree stays a loop: compare the PTX of the two.
///
/// # Safety
/// As [`sum`]; the block has a power of two of threads along x, and the launch gives four bytes
/// of dynamic shared memory for each.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sum_dynamic(input: *const f32, n: u32, partial: *mut f32) {
    let thread = thread_idx_x() as usize;
    // SAFETY: as in `sum`, with `block_dim_x()` in place of 256.
    unsafe {
        ANY_SIZE.write(thread, sum_of_share(input, n));
        let mut half = block_dim_x() as usize / 2;
        while half > 0 {
            sync_threads();
            if thread < half {
                ANY_SIZE.write(thread, ANY_SIZE.read(thread) + ANY_SIZE.read(thread + half));
            }
            half /= 2;
        }
        if thread == 0 {
            *partial.add(block_idx_x() as usize) = ANY_SIZE.read(0);
        }
    }
}
