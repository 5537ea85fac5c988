//! What the 32 lanes of a warp do together, without memory and without a barrier.
//!
//! `mask` names lanes by bits; [`FULL_WARP`] is all of them. The rule for every `unsafe` function
//! here is the same: **this lane is in `mask`, and all lanes of `mask` make the same call with the
//! same `mask`**. Anything else is undefined behaviour: the warp hangs, or values are arbitrary.

use crate::index::thread_idx_x;

/// Lanes of a warp, on every GPU so far.
pub const WARP_SIZE: u32 = 32;

/// The mask of all lanes.
pub const FULL_WARP: u32 = u32::MAX;

/// `shfl`'s last operand: lanes are clamped to the whole warp, no segments.
const UP_CLAMP: u32 = 0;
const CLAMP: u32 = WARP_SIZE - 1;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    safe fn read_lane_id() -> u32;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
    impl Sealed for f32 {}
}

/// A value that fits one 32-bit register, so that a shuffle can pass it on: `u32`, `i32`, `f32`.
pub trait Register: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn to_register(self) -> u32;
    #[doc(hidden)]
    fn from_register(register: u32) -> Self;
}

impl Register for u32 {
    #[inline(always)]
    fn to_register(self) -> u32 {
        self
    }
    #[inline(always)]
    fn from_register(register: u32) -> Self {
        register
    }
}

impl Register for i32 {
    #[inline(always)]
    fn to_register(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn from_register(register: u32) -> Self {
        register as i32
    }
}

impl Register for f32 {
    #[inline(always)]
    fn to_register(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_register(register: u32) -> Self {
        f32::from_bits(register)
    }
}

/// Number of this lane in its warp, `0..32`.
#[inline(always)]
pub fn lane_id() -> u32 {
    read_lane_id()
}

/// Number of this thread's warp in a block whose threads lie along x only.
#[inline(always)]
pub fn warp_id_1d() -> u32 {
    thread_idx_x() / WARP_SIZE
}

/// The `value` of the lane `delta` above this one; this lane's own where there is none.
///
/// # Safety
/// The rule of this module; and the lane read from, if there is one, is in `mask`.
#[inline(always)]
pub unsafe fn shuffle_down<T: Register>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_register(unsafe { shfl_down(mask, value.to_register(), delta, CLAMP) })
}

/// The `value` of the lane `delta` below this one; this lane's own where there is none.
///
/// # Safety
/// The rule of this module; and the lane read from, if there is one, is in `mask`.
#[inline(always)]
pub unsafe fn shuffle_up<T: Register>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_register(unsafe { shfl_up(mask, value.to_register(), delta, UP_CLAMP) })
}

/// The `value` of lane `lane_id() ^ lane_mask`, `lane_mask < 32`.
///
/// # Safety
/// The rule of this module; and the lane read from is in `mask`.
#[inline(always)]
pub unsafe fn shuffle_xor<T: Register>(mask: u32, value: T, lane_mask: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_register(unsafe { shfl_bfly(mask, value.to_register(), lane_mask, CLAMP) })
}

/// The `value` of lane `lane % 32`: a broadcast if all lanes ask for the same one.
///
/// # Safety
/// The rule of this module; and the lane read from is in `mask`.
#[inline(always)]
pub unsafe fn shuffle_idx<T: Register>(mask: u32, value: T, lane: u32) -> T {
    // SAFETY: the caller's promise.
    T::from_register(unsafe { shfl_idx(mask, value.to_register(), lane, CLAMP) })
}

/// One bit per lane of `mask`: its `predicate`. Lanes outside `mask` have a zero.
///
/// # Safety
/// The rule of this module.
#[inline(always)]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { vote_ballot(mask, predicate) }
}

/// Whether `predicate` holds in any lane of `mask`.
///
/// # Safety
/// The rule of this module.
#[inline(always)]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { vote_any(mask, predicate) }
}

/// Whether `predicate` holds in all lanes of `mask`.
///
/// # Safety
/// The rule of this module.
#[inline(always)]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { vote_all(mask, predicate) }
}

/// Combines the `value`s of all 32 lanes; every lane gets the result. Five shuffles.
///
/// `combine` must not care about order (`a + b`, `max`); with floats the order is the same in
/// every launch, so the result is too.
///
/// # Safety
/// All 32 lanes make this call together.
#[inline(always)]
pub unsafe fn reduce<T: Register>(value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut result = value;
    let mut distance = WARP_SIZE / 2;
    while distance > 0 {
        // SAFETY: the caller promises that all lanes are here.
        let other = unsafe { shuffle_xor(FULL_WARP, result, distance) };
        result = combine(result, other);
        distance /= 2;
    }
    result
}
