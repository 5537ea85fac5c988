//! Barriers (threads wait for each other) and fences (writes become visible in order).

use core::arch::nvptx;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.membar.cta"]
    safe fn membar_cta();
    #[link_name = "llvm.nvvm.membar.gl"]
    safe fn membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    safe fn membar_sys();
}

/// Waits until all threads of the block are here; what they wrote to shared and global memory
/// before is then visible to all of them. `bar.sync 0` in PTX, CUDA's `__syncthreads()`.
///
/// # Safety
/// All threads of the block that have not returned reach this same call. In a branch or loop that
/// only some of them take, the kernel hangs or the barrier pairs with another one.
#[inline(always)]
pub unsafe fn sync_threads() {
    // SAFETY: the caller's promise.
    unsafe { nvptx::_syncthreads() }
}

/// Waits until the lanes of `mask` are here; what they wrote before is then visible to them.
/// `bar.warp.sync` in PTX, CUDA's `__syncwarp()`.
///
/// # Safety
/// This lane is in `mask`, and all lanes of `mask` make this call with the same `mask`.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise.
    unsafe { bar_warp_sync(mask) }
}

/// Orders this thread's accesses before the fence and after it for all threads of the block.
/// `membar.cta` in PTX, CUDA's `__threadfence_block()`.
#[inline(always)]
pub fn fence_block() {
    membar_cta();
}

/// As [`fence_block`], for all threads of the device: `membar.gl`, CUDA's `__threadfence()`.
#[inline(always)]
pub fn fence_device() {
    membar_gl();
}

/// As [`fence_block`], for other devices and the host too: `membar.sys`, CUDA's
/// `__threadfence_system()`.
#[inline(always)]
pub fn fence_system() {
    membar_sys();
}
