//! Memory that the threads of one block share.
//!
//! A static of the section `.shared` is *placed* by `oxide build`: at the device link it moves
//! into LLVM's address space 3, and every access becomes `ld.shared` or `st.shared`. The section
//! name is what asks for it; the macros here write it, so it cannot be forgotten. (Built by a tool
//! that knows no placement, such a static would be one global variable for the whole grid: slow
//! and wrong.)
//!
//! Nothing in a `Shared` is initialised: the hardware does not clear shared memory, and an
//! initialiser other than zero is an error of the build.

use core::cell::UnsafeCell;
use core::mem::{size_of, MaybeUninit};

/// A `T` in shared memory, one per block, aligned to 16 bytes so that 128-bit accesses may start
/// at its first byte.
///
/// Make one with [`shared!`](crate::shared!). All threads of the block have the same `T`; what
/// orders their accesses is [`sync_threads`](crate::sync_threads), so all access is `unsafe`.
#[repr(C, align(16))]
pub struct Shared<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: a `Shared` only gives out raw pointers; who follows them vouches for the order.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The only initialiser that shared memory can have: none.
    #[allow(clippy::new_without_default)]
    pub const fn uninit() -> Self {
        // An empty static in `.shared` means dynamic shared memory.
        assert!(
            size_of::<T>() > 0,
            "an empty static is `dynamic_shared!`, not `shared!`"
        );
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Where it is. Following the pointer before anything was written is undefined behaviour,
    /// and so is a write while another thread of the block reads or writes the same bytes.
    #[inline(always)]
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get().cast()
    }
}

impl<T: Copy, const N: usize> Shared<[T; N]> {
    /// Where element `index` is.
    ///
    /// # Safety
    /// `index <= N`.
    #[inline(always)]
    pub unsafe fn element(&self, index: usize) -> *mut T {
        debug_assert!(index <= N);
        // SAFETY: inside the array, or one past its end.
        unsafe { self.as_ptr().cast::<T>().add(index) }
    }

    /// The value of element `index`.
    ///
    /// # Safety
    /// `index < N`; the element was written by this thread, or by another one before a barrier
    /// that both passed; no thread writes it until the next barrier.
    #[inline(always)]
    pub unsafe fn read(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.element(index).read() }
    }

    /// Sets element `index`.
    ///
    /// # Safety
    /// `index < N`; no other thread reads or writes the element between the barriers before and
    /// after this write.
    #[inline(always)]
    pub unsafe fn write(&self, index: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.element(index).write(value) }
    }
}

/// Shared memory whose size the launch decides (`sharedMemBytes` of `cuLaunchKernel`).
///
/// Make one with [`dynamic_shared!`](crate::dynamic_shared!). It becomes
/// `.extern .shared .align 16 .b8 NAME[]` in PTX. All dynamic shared memory of a kernel starts at
/// the same address: declare one per kernel, and carve it up yourself if you need more.
#[repr(C, align(16))]
pub struct DynamicShared<T>(UnsafeCell<[MaybeUninit<T>; 0]>);

// SAFETY: as for `Shared`.
unsafe impl<T> Sync for DynamicShared<T> {}

impl<T: Copy> DynamicShared<T> {
    /// The only initialiser there is.
    #[allow(clippy::new_without_default)]
    pub const fn uninit() -> Self {
        Self(UnsafeCell::new([]))
    }

    /// Where element `index` is. Following a pointer past the size that the launch gave is
    /// undefined behaviour; so is what [`Shared::as_ptr`] names.
    ///
    /// In Rust's eyes the static is empty; the placement makes it an `extern` array of unknown
    /// length before any optimisation, hence no arithmetic that promises to stay inside.
    #[inline(always)]
    pub fn element(&self, index: usize) -> *mut T {
        self.0.get().cast::<T>().wrapping_add(index)
    }

    /// The value of element `index`.
    ///
    /// # Safety
    /// As [`Shared::read`], with the length that the launch gave.
    #[inline(always)]
    pub unsafe fn read(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.element(index).read() }
    }

    /// Sets element `index`.
    ///
    /// # Safety
    /// As [`Shared::write`], with the length that the launch gave.
    #[inline(always)]
    pub unsafe fn write(&self, index: usize, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.element(index).write(value) }
    }
}

/// Declares [`Shared`](crate::Shared) statics: `shared! { static TILE: [f32; 1024]; }`.
#[macro_export]
macro_rules! shared {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty;)+) => {$(
        $(#[$attribute])*
        #[unsafe(link_section = ".shared")]
        $visibility static $name: $crate::Shared<$type> = $crate::Shared::uninit();
    )+};
}

/// Declares a [`DynamicShared`](crate::DynamicShared) static:
/// `dynamic_shared! { static BUFFER: [f32]; }`.
#[macro_export]
macro_rules! dynamic_shared {
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: [$type:ty];) => {
        $(#[$attribute])*
        #[unsafe(link_section = ".shared")]
        $visibility static $name: $crate::DynamicShared<$type> = $crate::DynamicShared::uninit();
    };
}
