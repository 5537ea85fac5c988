//! Four floats at once: one 128-bit access instead of four of 32 bits.
//!
//! PTX has vector loads (`ld.global.v4.b32`, `ld.shared.v4.b32`) but no vector arithmetic: an
//! [`F32x4`] in flight is four registers. What counts is its alignment of 16: with it LLVM may use
//! the vector forms, without it never, for PTX traps on a misaligned one.

use core::array;
use core::ops::{Add, Index, IndexMut, Mul};

/// Four floats, aligned to 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
pub struct F32x4(pub [f32; 4]);

impl F32x4 {
    /// Floats in one vector.
    pub const LANES: usize = 4;

    /// Four times the same.
    #[inline(always)]
    pub const fn splat(value: f32) -> Self {
        Self([value; 4])
    }

    /// Loads four floats: one `ld.v4`.
    ///
    /// # Safety
    /// `source` is aligned to 16 bytes and four floats from it may be read.
    #[inline(always)]
    pub unsafe fn load(source: *const f32) -> Self {
        debug_assert!(is_aligned(source));
        // Lane by lane: as a whole, LLVM sees 16 bytes and may choose two registers of 64 bits.
        // SAFETY: the caller's promise.
        let lanes = unsafe { &*source.cast::<Self>() };
        Self([lanes.0[0], lanes.0[1], lanes.0[2], lanes.0[3]])
    }

    /// Stores four floats: one `st.v4`.
    ///
    /// # Safety
    /// `target` is aligned to 16 bytes and four floats from it may be written.
    #[inline(always)]
    pub unsafe fn store(self, target: *mut f32) {
        debug_assert!(is_aligned(target));
        let target = target.cast::<Self>();
        let [a, b, c, d] = self.0;
        // SAFETY: the caller's promise.
        unsafe {
            (*target).0[0] = a;
            (*target).0[1] = b;
            (*target).0[2] = c;
            (*target).0[3] = d;
        }
    }
}

impl Add for F32x4 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(array::from_fn(|lane| self.0[lane] + other.0[lane]))
    }
}

impl Mul for F32x4 {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(array::from_fn(|lane| self.0[lane] * other.0[lane]))
    }
}

impl Index<usize> for F32x4 {
    type Output = f32;

    #[inline(always)]
    fn index(&self, lane: usize) -> &f32 {
        &self.0[lane]
    }
}

impl IndexMut<usize> for F32x4 {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut f32 {
        &mut self.0[lane]
    }
}

/// The same memory seen as vectors, if its alignment allows it. Memory from `cuMemAlloc` does; a
/// view that starts at some element of it may not.
#[inline(always)]
pub fn as_vec4(floats: *const f32) -> Option<*const F32x4> {
    is_aligned(floats).then_some(floats.cast())
}

/// As [`as_vec4`], to write through.
#[inline(always)]
pub fn as_vec4_mut(floats: *mut f32) -> Option<*mut F32x4> {
    is_aligned(floats).then_some(floats.cast())
}

#[inline(always)]
fn is_aligned(floats: *const f32) -> bool {
    floats.cast::<F32x4>().is_aligned()
}
