//! Sum of an array by shuffles: lanes of a warp pass registers to each other.
//!
//! Compared with the tree in shared memory (`//examples/reduction`): one barrier instead of
//! eight, 32 floats of shared memory instead of 256. Launched twice in the same way.
#![no_std]
#![feature(abi_ptx)]

use oxide_device::index::{block_dim_x, block_idx_x};
use oxide_device::warp::{self, WARP_SIZE};
use oxide_device::{grid_stride, shared, sync_threads};

shared! {
    /// One float per warp; a block has at most 1024 / 32 warps.
    static WARP_SUMS: [f32; 32];
}

/// `partial[block]` = sum of the block's share of `input[..n]`. Blocks of whole warps along x:
/// 32, 64, … 1024 threads.
///
/// # Safety
/// `input` is a device pointer to `n` floats, `partial` to as many floats as the grid has blocks;
/// they do not overlap. The block's threads lie along x and are a multiple of 32.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn warp_sum(input: *const f32, n: u32, partial: *mut f32) {
    let (lane, warp) = (warp::lane_id(), warp::warp_id_1d());
    let mut sum = 0.0;
    for i in grid_stride(n as usize) {
        // SAFETY: `i < n`.
        sum += unsafe { *input.add(i) };
    }
    // SAFETY: warps are whole, and each is through its loop before it shuffles (the mask makes
    // lanes wait for each other); each element of `WARP_SUMS` has one writer, before the barrier.
    unsafe {
        // Five `shfl.sync.bfly.b32` and five `add.rn.f32`, no memory, no barrier.
        sum = warp::reduce(sum, |a, b| a + b);
        if lane == 0 {
            WARP_SUMS.write(warp as usize, sum);
        }
        sync_threads();
        // The first warp as a whole adds up the warps' sums; `warp` is the same in all its lanes,
        // so nothing diverges at the shuffles.
        if warp == 0 {
            let warps = block_dim_x() / WARP_SIZE;
            let mine = if lane < warps {
                WARP_SUMS.read(lane as usize)
            } else {
                0.0
            };
            let total = warp::reduce(mine, |a, b| a + b);
            if lane == 0 {
                *partial.add(block_idx_x() as usize) = total;
            }
        }
    }
}
