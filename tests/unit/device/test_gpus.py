"""What the driver says, through a driver of the test's own."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from oxide_build.device import gpus
from oxide_build.errors import DeviceError
from oxide_build.model.arch import Arch


class FakeDriver(ModuleType):
    """The calls of `cuda.bindings.driver` that are used, for one GPU of 9.0 unless said."""

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR="major",
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR="minor",
    )

    def __init__(self, init: int = 0, count: int = 1) -> None:
        super().__init__("cuda.bindings.driver")
        self.init, self.count = init, count

    @staticmethod
    def CUresult(code: int) -> SimpleNamespace:
        if code != 100:
            raise ValueError
        return SimpleNamespace(name="CUDA_ERROR_NO_DEVICE")

    def cuInit(self, flags: int) -> tuple[int]:
        if self.init == -1:
            raise RuntimeError("libcuda.so.1 not found")
        return (self.init,)

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, 13000

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, self.count

    def cuDeviceGet(self, index: int) -> tuple[int, int]:
        return 0, index

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[int, int]:
        return 0, {"major": 9, "minor": 0}[attribute]

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"NVIDIA H200\0\0\0"

    def cuDeviceTotalMem(self, device: int) -> tuple[int, int]:
        return 0, 139 << 30


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def put(driver: FakeDriver) -> None:
        package = ModuleType("cuda.bindings")
        package.driver = driver  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "cuda.bindings", package)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)

    return put


def test_a_gpu_is_named_with_its_arch(install) -> None:  # type: ignore[no-untyped-def]
    install(FakeDriver())
    report = gpus.inspect_driver()
    assert report.reason is None
    assert report.api == 13000
    assert [(gpu.name, gpu.arch) for gpu in report.gpus] == [("NVIDIA H200", Arch(90))]
    assert gpus.native_arch() == Arch(90)


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (FakeDriver(init=-1), "the NVIDIA driver (libcuda) was not found"),
        (FakeDriver(init=100), "CUDA_ERROR_NO_DEVICE"),
        (FakeDriver(init=7), "error 7"),
        (FakeDriver(count=0), "the driver offers none"),
    ],
)
def test_without_a_gpu_native_says_why(install, driver: FakeDriver, reason: str) -> None:  # type: ignore[no-untyped-def]
    install(driver)
    with pytest.raises(DeviceError) as caught:
        gpus.native_arch()
    assert reason in caught.value.message
    assert "name the archs instead" in str(caught.value)


def test_without_the_bindings_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert "not installed" in str(gpus.inspect_driver().reason)


def test_the_version_of_the_kernel_module_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path, install
) -> None:  # type: ignore[no-untyped-def]
    text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Sep  2 2026\n"
    (tmp_path / "version").write_text(text)
    monkeypatch.setattr(gpus, "_KERNEL_MODULE", tmp_path / "version")
    install(FakeDriver())
    assert gpus.inspect_driver().version == "580.159.04"
