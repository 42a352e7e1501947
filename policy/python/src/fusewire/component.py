"""A policy as a WebAssembly component, in wasmtime.

A :class:`Component` is compiled once. An :class:`Instance` runs one call at a time; instances of
one component are interchangeable, since everything they answer follows from their arguments, their
configuration and the store's answers.

Limits: an instance has at most :data:`MEMORY_MAX` bytes of memory, and one call at most
:data:`FUEL` WebAssembly instructions. Fuel and not time, because a time limit needs a thread that
counts, which would not survive ``fork``, and because time spent waiting for the store is then not
the policy's.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import wasmtime
from wasmtime import _ffi as ffi
from wasmtime import component as c

from ._parts import part
from ._values import VAL_SIZE, Arena, Read, Write, reader, writer
from .errors import LoadError, PolicyFault

MEMORY_MAX = 16 << 20
"""The most memory of one instance, in bytes."""

FUEL = 100_000_000
"""The most instructions of one call: a thousand times what a decision usually takes, and some tenth
of a second."""

IMPORT = "fusewire:policy/keyvalue@"
"""The only interface that a policy may import, whatever its version."""

BUILT_IN = "fusewire_policy.wasm"

EXPORTS = ("lifecycle", "classifier", "breaker", "planner")
"""The interfaces that every policy exports."""

_PACKAGE = "fusewire:policy/"


class Imports(Protocol):
    """What the imports of an instance see during a call. Answers are results as values."""

    def get(self, keys: list[str]) -> Any: ...

    def swap(
        self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int
    ) -> Any: ...

    def count(self, windows: list[Any]) -> Any: ...


class NoStore:
    """The imports of a call that may not touch the store."""

    _ANSWER = {"err": {"refused": "this export may not touch the store"}}

    def get(self, keys: list[str]) -> Any:
        return self._ANSWER

    def swap(self, key: str, expected: bytes | None, replacement: bytes | None, ttl_ms: int) -> Any:
        return self._ANSWER

    def count(self, windows: list[Any]) -> Any:
        return self._ANSWER


class _Call(threading.local):
    """The call that is under way on this thread."""

    imports: Imports = NoStore()
    error: BaseException | None = None


_call = _Call()


class Component:
    """A compiled policy, from which instances are made. Any number of threads may use it."""

    def __init__(self, wasm: bytes, *, cache: bool | str = False) -> None:
        """Compiles a component, which takes a tenth of a second. ``cache`` keeps what was compiled
        in wasmtime's own cache on disk; a text is the path of that cache's configuration."""
        try:
            config = wasmtime.Config()
            config.consume_fuel = True
            if cache:
                config.cache = cache
            self._engine = wasmtime.Engine(config)
            self._component = c.Component(self._engine, wasm)
            imports = self._component.type.imports(self._engine)
            for name in imports:
                if not name.startswith(IMPORT):
                    raise LoadError(
                        f"the component imports {name}; a policy may import {IMPORT}* alone"
                    )
            self._interfaces = {
                name: list(extern.ty.exports(self._engine))
                for name, extern in self._component.type.exports(self._engine).items()
                if name.startswith(_PACKAGE) and isinstance(extern.ty, c.ComponentInstanceType)
            }
            self._signatures: dict[str, _Signature] = {}
            for name in EXPORTS:
                if not self.exports(name):
                    raise LoadError(
                        f"the component exports no {_PACKAGE}{name}; a policy exports "
                        f"{', '.join(EXPORTS)}"
                    )
            self._linker = c.Linker(self._engine)
            self._callbacks = [
                callback
                for name, extern in imports.items()
                for callback in _define(self._linker, self._engine, name, extern.ty)
            ]
        except wasmtime.WasmtimeError as error:
            raise LoadError(f"not a component that can be loaded: {error}") from error

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, cache: bool | str = False) -> Component:
        """A component from a file, in its binary form."""
        try:
            wasm = Path(path).read_bytes()
        except OSError as error:
            raise LoadError(f"cannot read the component: {error}") from error
        try:
            return cls(wasm, cache=cache)
        except LoadError as error:
            raise LoadError(f"{os.fspath(path)}: {error}") from error

    @classmethod
    def built_in(cls, *, cache: bool | str = False) -> Component:
        """The policy that the package was built with; in the repository, the one built there."""
        return cls.from_file(part(BUILT_IN, f"target/{BUILT_IN}"), cache=cache)

    def exports(self, interface: str) -> bool:
        """Whether it has this interface of the contract, such as ``evidence``, whatever its
        version."""
        return any(name.startswith(f"{_PACKAGE}{interface}@") for name in self._interfaces)

    def instantiate(self) -> Instance:
        """A new instance, which behaves as one configured with ``{}``."""
        store = wasmtime.Store(self._engine)
        store.set_limits(
            memory_size=MEMORY_MAX, table_elements=100_000, instances=16, tables=16, memories=4
        )
        store.set_fuel(FUEL)
        try:
            instance = self._linker.instantiate(store, self._component)
        except wasmtime.WasmtimeError as error:
            raise PolicyFault(f"the policy could not be instantiated: {error}") from error
        return Instance(store, dict(self._exports(store, instance)))

    def _exports(
        self, store: wasmtime.Store, instance: c.Instance
    ) -> Iterator[tuple[str, tuple[c.Func, _Signature]]]:
        """Each exported function, named as ``breaker.admit``."""
        for interface, names in self._interfaces.items():
            within = instance.get_export_index(store, interface)
            for name in names:
                index = instance.get_export_index(store, name, within)
                func = index and instance.get_func(store, index)
                if func:
                    short = interface.removeprefix(_PACKAGE).partition("@")[0]
                    full = f"{short}.{name}"
                    # The same for every instance, and slow to find out.
                    if full not in self._signatures:
                        self._signatures[full] = _Signature(func.type(store))
                    yield full, (func, self._signatures[full])


class Instance:
    """One instance of a policy: for one thread at a time, though not always the same."""

    def __init__(
        self, store: wasmtime.Store, exports: dict[str, tuple[c.Func, _Signature]]
    ) -> None:
        self._store = store
        self._exports = exports
        self._arena = Arena()
        self._answer = ffi.wasmtime_component_val_t()

    def call(self, name: str, imports: Imports, arguments: Mapping[str, Any]) -> Any:
        """Calls an export, such as ``breaker.admit``, with its arguments by name.

        Raises :class:`PolicyFault` where it does not answer; the instance is then of no use.
        Raises :class:`TypeError` where the arguments are not of the export's types; nothing was
        called then.
        """
        if name not in self._exports:
            raise PolicyFault(f"the policy has no export {name}")
        func, signature = self._exports[name]
        params = signature.params
        if arguments.keys() != signature.names:
            raise TypeError(f"{name} takes {', '.join(params)}")
        try:
            self._arena.write(signature.writers, [arguments[param] for param in params])
        except Exception as error:
            raise TypeError(f"{name}: {error}") from error
        self._store.set_fuel(FUEL)
        before = _call.imports
        _call.imports = imports
        try:
            failed = ffi.wasmtime_component_func_call(
                ctypes.byref(func._func),
                self._store._context(),
                self._arena.vals,
                len(params),
                ctypes.byref(self._answer),
                0 if signature.read is None else 1,
            )
        finally:
            _call.imports = before
        if failed:
            raise _fault(name, wasmtime.WasmtimeError._from_ptr(failed))
        if signature.read is None:
            return None
        try:
            return signature.read(ctypes.string_at(ctypes.addressof(self._answer), VAL_SIZE), 0)
        finally:
            ffi.wasmtime_component_val_delete(ctypes.byref(self._answer))
            ctypes.memset(ctypes.byref(self._answer), 0, VAL_SIZE)


class _Signature:
    """What writes the arguments of an exported function, and reads its answer."""

    def __init__(self, ty: c.FuncType) -> None:
        params, result = ty.params, ty.result
        self.params = [name for name, _ in params]
        self.names = set(self.params)
        self.writers: list[Write] = [writer(param) for _, param in params]
        self.read: Read | None = None if result is None else reader(result)


def _fault(name: str, error: wasmtime.WasmtimeError) -> BaseException:
    """What to raise for a call that wasmtime ended with an error."""
    interrupted, _call.error = _call.error, None
    if isinstance(interrupted, Exception):
        return PolicyFault(f"{name}: the store's answer could not be passed on: {interrupted}")
    if interrupted is not None:
        return interrupted
    # The first lines name the frames; the reason comes last.
    lines = str(error).strip().splitlines()
    return PolicyFault(f"{name}: {lines[-1].strip() if lines else 'it trapped'}")


def _define(linker: c.Linker, engine: wasmtime.Engine, interface: str, ty: Any) -> list[Any]:
    """Defines the functions of the imported interface. Answers what must outlive the linker."""
    callbacks = []
    with linker.root() as root, root.add_instance(interface) as within:
        for name, extern in ty.exports(engine).items():
            if not isinstance(extern.ty, c.FuncType):
                continue
            callback = ffi.wasmtime_component_func_callback_t(_import(name, extern.ty))
            text = name.encode()
            failed = ffi.wasmtime_component_linker_instance_add_func(
                within.ptr(), ctypes.create_string_buffer(text), len(text), callback, None, _NOTHING
            )
            if failed:
                raise wasmtime.WasmtimeError._from_ptr(failed)
            callbacks.append(callback)
    return callbacks


_NOTHING = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))


def _import(name: str, ty: c.FuncType) -> Callable[..., int]:
    """What wasmtime calls for an import: reads the arguments, asks, and writes the answer."""
    reads = [(reader(param), i * VAL_SIZE) for i, (_, param) in enumerate(ty.params)]
    size = len(reads) * VAL_SIZE
    writers = [writer(ty.result)]
    arenas = threading.local()

    def imported(_: Any, __: Any, ___: Any, given: Any, ____: int, answer: Any, _____: int) -> int:
        try:
            block = ctypes.string_at(given, size)
            result = getattr(_call.imports, name)(*[read(block, at) for read, at in reads])
            arena = getattr(arenas, "arena", None)
            if arena is None:
                arena = arenas.arena = Arena()
            arena.write(writers, [result])
            ffi.wasmtime_component_val_clone(arena.vals, answer)
            return 0
        except BaseException as error:  # Python's frames end here; `_fault` raises it again.
            _call.error = error
            told = wasmtime.WasmtimeError("the store was interrupted")
            return ctypes.cast(told._consume(), ctypes.c_void_p).value or 0

    return imported
