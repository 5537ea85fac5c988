//! What GPU kernels in plain Rust need and `core` does not offer.
//!
//! | module | what it has |
//! |---|---|
//! | [`index`] | who am I: thread and block indices, grid-stride loops |
//! | [`shared`] | memory that a block shares: [`shared!`], [`dynamic_shared!`] |
//! | [`sync`] | barriers and fences |
//! | [`warp`] | shuffles, votes and reductions inside a warp |
//! | [`vector`] | 128-bit loads and stores |
//! | [`math`] | fused multiply-add |
//! | [`unroll`] | loops written out in full |
//!
//! The crate hides what differs between rustc releases, so kernels need no gate of their own but
//! `#![feature(abi_ptx)]` for `extern "ptx-kernel"`. It compiles with rustc 1.95 and later, on
//! LLVM 22 and 23.
//!
//! Instructions that several threads execute together (barriers, shuffles, votes) are LLVM
//! intrinsics here, not `asm!`: LLVM knows them as *convergent* and never moves them into or out
//! of a branch. rustc does not mark `asm!` so, and `asm!` also hides constants from the optimiser.
//!
//! `unsafe` means what it means elsewhere: a function is `unsafe` if a wrong call is undefined
//! behaviour, and its `# Safety` section says which calls are wrong.
#![no_std]
#![feature(core_float_math, link_llvm_intrinsics, stdarch_nvptx)]
// `link_llvm_intrinsics` is meant for the standard library; there is no other way to a convergent
// call in rustc 1.95 to 1.101.
#![allow(internal_features)]

pub mod index;
pub mod math;
pub mod shared;
pub mod sync;
pub mod unroll;
pub mod vector;
pub mod warp;

pub use index::{global_id_1d, grid_stride};
pub use math::fma;
pub use shared::{DynamicShared, Shared};
pub use sync::sync_threads;
pub use unroll::unroll_8;
pub use vector::{as_vec4, as_vec4_mut, F32x4};
