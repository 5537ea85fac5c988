//! Where this thread is in its block and its block in the grid.
//!
//! Each function reads one special register (`%tid.x`, `%ctaid.x`, …): about the cost of a move.

use core::arch::nvptx;

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        // The intrinsics return `i32` up to rustc 1.94 and `u32` from 1.95: the cast serves both.
        #[allow(clippy::unnecessary_cast)]
        pub fn $name() -> u32 {
            // SAFETY: reads a register that every thread has.
            unsafe { nvptx::$intrinsic() as u32 }
        }
    )*};
}

special_registers! {
    /// Index of this thread in its block, `0..block_dim_x()`.
    thread_idx_x = _thread_idx_x;
    /// Index of this thread in its block, `0..block_dim_y()`.
    thread_idx_y = _thread_idx_y;
    /// Index of this thread in its block, `0..block_dim_z()`.
    thread_idx_z = _thread_idx_z;
    /// Index of this block in the grid, `0..grid_dim_x()`.
    block_idx_x = _block_idx_x;
    /// Index of this block in the grid, `0..grid_dim_y()`.
    block_idx_y = _block_idx_y;
    /// Index of this block in the grid, `0..grid_dim_z()`.
    block_idx_z = _block_idx_z;
    /// Threads of a block in x.
    block_dim_x = _block_dim_x;
    /// Threads of a block in y.
    block_dim_y = _block_dim_y;
    /// Threads of a block in z.
    block_dim_z = _block_dim_z;
    /// Blocks of the grid in x.
    grid_dim_x = _grid_dim_x;
    /// Blocks of the grid in y.
    grid_dim_y = _grid_dim_y;
    /// Blocks of the grid in z.
    grid_dim_z = _grid_dim_z;
}

/// Number of this thread in a one-dimensional launch, unique in the grid.
///
/// `usize`, because a grid may have more than 2^32 threads.
#[inline(always)]
pub fn global_id_1d() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}

/// Threads of a one-dimensional launch.
#[inline(always)]
pub fn global_size_1d() -> usize {
    grid_dim_x() as usize * block_dim_x() as usize
}

/// The indices below `n` that are this thread's share: its own number, then every
/// [`global_size_1d`]-th one.
///
/// Any grid covers any `n` this way, each index once, and neighbouring threads touch neighbouring
/// elements, so a warp's 32 loads become whole cache lines.
#[inline(always)]
pub fn grid_stride(n: usize) -> GridStride {
    GridStride {
        next: global_id_1d(),
        end: n,
        step: global_size_1d(),
    }
}

/// The iterator of [`grid_stride`].
#[derive(Clone, Debug)]
pub struct GridStride {
    next: usize,
    end: usize,
    step: usize,
}

impl Iterator for GridStride {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.next >= self.end {
            return None;
        }
        let current = self.next;
        self.next += self.step;
        Some(current)
    }
}
