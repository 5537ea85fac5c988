"""A build tool for GPU kernels written in Rust and CUDA C++."""

__version__ = "0.1.0"
